/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of team_test that are in other files. */
#ifndef GR_TESTS_TEAM_ROWS_H
#define GR_TESTS_TEAM_ROWS_H

#include "team_calls.h"

/* team_kernel_rows.c */
void every_type_and_operation_has_its_kernel(void);
void kernels_that_count_bytes_take_elements(void);

/* team_link_rows.c */
void links_lie_where_both_ends_reach_them(void);
void links_of_one_algorithm_serve_another(void);
void the_fewest_channels_are_used(void);
void a_pools_bound_is_reached(void);
void the_device_is_full(void);
void the_device_has_no_room_for_tables(void);
void a_rank_has_no_device(void);
void an_offer_cannot_be_mapped(void);
void an_answer_cannot_be_mapped(void);
void the_driver_fails_while_links_are_made(void);
void host_links_are_refused(void);
void a_refusal_leaves_other_links(void);

/* team_stop_rows.c */
void a_rank_never_begins_and_the_others_abort(void);
void calls_are_aborted_anywhere(void);
void abort_needs_no_launch(void);
void those_waited_for_are_named(void);
void a_root_names_all_who_are_missing(void);
void a_writer_names_who_does_not_read(void);

/* team_nodes_rows.c */
void remote_links_lie_in_host_memory(void);
void remote_slots_lie_on_devices(void);
void slots_that_need_no_flush(void);
void slots_that_cannot_lie_on_devices(void);
void slots_find_no_room_on_devices(void);
void a_flush_fails_and_the_calls_abort(void);
void a_call_is_over_when_all_is_sent(void);
void a_connection_breaks_and_the_calls_abort(void);
void remote_links_are_refused(void);
void what_is_for_other_nodes_waits_for_the_gate(void);
void the_end_waits_for_the_gate(void);

/* team_leader_rows.c */
void one_of_two_that_claim_leads(void);
void a_call_that_a_rank_has_left_is_not_launched(void);
void what_fails_before_the_launch_is_a_refusal_of_all(void);

/* team_fail_rows.c */
void a_launch_fails(void);
void an_error_is_transient(void);
void a_kernel_dies(void);
void steps_are_written_once(void);
void a_call_cannot_begin(void);
void a_device_is_reset(void);

#endif
