/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are not copied to slots: the receiver reads the sender's buffer at the latest
 * possible moment, as with direct plans or sends from the buffer (gr_fifo.data_at). So the check
 * finds senders that overwrite the buffer too early.
 */
#include "symbolic.h"

static int sends_from_buffers(const struct sym_case *c)
{
    return !c->zero_copy && (c->from_buffers || !gr_algo_overwrites_sent(c->algo));
}

/* As exec/host.c: what is only passed on lies nowhere but in slots. */
void sym_send_from_buffer(struct sym *w, const struct gr_step *s, const struct sym_value *slot,
                          const struct sym_value *operand, const struct sym_value *dest)
{
    w->data_at[slot - w->slot_values] = !sends_from_buffers(w->c) ? NULL
                                        : s->bits & GR_RECV       ? dest
                                                                  : operand;
}

void sym_take_from_buffer(struct sym_rank *me, const struct gr_step *s,
                          const struct sym_value *slot)
{
    const struct sym_value *now = me->w->data_at[slot - me->w->slot_values];

    if (NULL != now && (!now->valid || now->hash != slot->hash)) {
        sym_fail(me->w, SYM_OVERWRITTEN, me->rank, "%s of chunk %u, element %d", gr_step_name(s),
                 s->first, slot->elem);
    }
}
