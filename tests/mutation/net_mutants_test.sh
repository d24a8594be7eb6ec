#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# net_test sees faults: some of a list of them are planted into copies of the network's files, one at a time, and each must
# make it fail. Prints TAP. Environment: srcdir (default: two folders up), CC.
set -u
export LC_ALL=C
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
pkg-config --exists cmocka 2>/dev/null || { echo "1..0 # SKIP cmocka not found"; exit 0; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../result.sh"
. "$(dirname "$0")/../sample.sh"

# file | what is wrong | from | to; each `from` is one place
faults='
link.c | one slot too many is sent | l->read + l->window, seq | l->read + l->window + 1, seq
link.c | the reader has another number of slots | GR_NET_OUT == link->side ? theirs->nslots : | 0 ? 0 :
link.c | slots are given back before they are sent | while (l->through & 1) {\n        l->through >>= 1;\n        atomic | while (l->through) {\n        l->through >>= 1;\n        atomic
link.c | slots are never given back | (message->head.seq - l->given); | (message->head.seq - l->given) \& 0;
link.c | slots come out in another order | while (l->through & 1) {\n        l->through >>= 1;\n        l->coming | while (l->through) {\n        l->through >>= 1;\n        l->coming
link.c | whole slots travel | NULL == l->fifo.fill ? | 1 ?
link.c | the wrong slot is sent | l->fifo.slots + at * | l->fifo.slots + (at ^ 1) %% l->fifo.nslots *
link.c | the slot travels and not what lies elsewhere | return NULL != from ? from : | return
link.c | what lies elsewhere is never forgotten | = NULL; /* also where it failed | ; /* also where it failed
link.c | nor where it could not be sent | NULL != l->fifo.from) {\n | NULL != l->fifo.from \&\& status >= 0) {\n
net.c | a writer need not wait for its memory | return NULL != l->fifo.from[at]; | return 0;
net.c | what a writer takes back is lost | memcpy(l->fifo.slots + at * l->fifo.slot_bytes, l->fifo.from[at], l->fifo.fill[at]); |
net.c | what a writer takes back goes to another slot | memcpy(l->fifo.slots + at * | memcpy(l->fifo.slots + (at ^ 1) %% l->fifo.nslots *
net.c | a writer takes back what travels | \|\| seq < l->next) { | ) {
link.c | the wrong slot is written | gr_net_slot(l, head->seq) * | head->seq %% l->fifo.nslots *
link.c | credits come too late | head - l->read >= l->fifo.nslots / 2 | head - l->read > l->fifo.nslots
link.c | credits are too many | post(l, &l->message[0], GR_NET_CREDIT, head, | post(l, \&l->message[0], GR_NET_CREDIT, head + 1,
link.c | credits that travel with data are too many | head->read = read; | head->read = read + 1;
link.c | credits that travel with data are told again | in->read = read; | ;
link.c | credits that travel with data are for another link | head->back = in->theirs; | head->back = in->number;
link.c | who has left is heard | l == l->peer->heard | 0
link.c | an old credit overtakes and counts | head->seq > l->read && head->seq | head->seq
link.c | credits count for what was not sent | && head->seq <= l->next) | )
link.c | the message of credits is used twice | if (l->telling) { | if (0) {
link.c | a message comes twice | \|\|\n        (l->through \| l->coming) >> (head->seq - l->next) & 1 |
link.c | a message comes while it is being received | (l->through \| l->coming) >> | l->through >>
link.c | an old message comes | head->seq < l->next \|\| |
link.c | a message comes too early | head->seq >= l->read + l->fifo.nslots \|\| |
link.c | a message is too long | \|\| bytes > l->fifo.slot_bytes |
link.c | a writer leaves what it has pushed | l->next == pushed(l)) | 1)
link.c | a link ends with messages under way | \|\| l->under_way > 0) { | ) {
link.c | what writers say does not travel | add_words(l, &m->head); | ;
link.c | what writers say is not taken | \|\| head->seq < l->said) { | \|\| 1) {
link.c | an older word overtakes | \|\| head->seq < l->said) { | ) {
link.c | the door stays shut | gr_door_leave(l->fifo.door, l->fifo.lease); |
link.c | the door of slots on a GPU stays shut | gr_door_leave(l->fifo.gpu.door, l->fifo.gpu.lease); |
link.c | what comes in is not flushed | if (l->through & 1 && !is_flushed(l)) { | if (0) {
link.c | the flush comes behind the tail | if (l->through & 1 && !is_flushed(l)) {\n        return;\n    }\n    while (l->through & 1) { | for (; l->through \& 1; is_flushed(l)) {
link.c | each message is flushed | if (l->through & 1 && !is_flushed(l)) { | if (!is_flushed(l)) {
link.c | a flush that fails counts as one | \|\| 0 == l->fifo.gpu.flush(l->fifo.gpu.gpu)) { | \|\| l->fifo.gpu.flush(l->fifo.gpu.gpu) < 1) {
link.c | who sends is not told of GPUs | l->message[k].on_gpu = fifo->gpu.on; |
link.c | who receives is not told of GPUs | *on_gpu = l->fifo.gpu.on; | *on_gpu = 0;
link.c | nobody hears that the reader has left | if (l->closing && !l->gone) { | if (0) {
link.c | only of links that did not fail | (l->closing \|\| 0 == l->status)) { | 0 == l->status) {
link.c | a failed link goes on taking messages | \|\| 0 != l->status) { | ) {
net.c | a later link of the same place gets the messages | && l->number == number | \&\& number
net.c | all peers are one | && 0 == memcmp(p->address, offer->address, p->bytes)) { | ) {
net.c | a broken connection fails all links | && p == net->places[k]->peer) { | ) {
net.c | a broken connection fails no link | gr_net_fail(net->places[k], p->status, p->why); |
net.c | whose turn it is does not count | gr_net_turn(l) < gr_net_turn(first) | 0
net.c | the last goes first | gr_net_turn(l) < gr_net_turn(first) | gr_net_turn(l) > gr_net_turn(first)
net.c | who receives sends | do_if_free(net, receive_all, moved); | do_if_free(net, go_on, moved);
net.c | the network ends without leaving FIFOs | gr_net_leave(net->places[k]); |
'

compile() { # OBJECT SOURCE
    # shellcheck disable=SC2046
    ${CC:-cc} -std=gnu11 -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -w -I"$tree" \
        -I"$srcdir/coll_gpuring" -I"$srcdir/tests/unit/net" $(pkg-config --cflags cmocka) -c -o "$work/$1" "$2"
}

# Seconds for a run of it: those that are right may take long on a machine with other work.
limit=600
# Every test of net_test on the sources below the folder; its output in $work/found.
passes() { # FOLDER
    local tree=$1
    # shellcheck disable=SC2046
    if ! { compile net.o "$tree/net/net.c" && compile link.o "$tree/net/link.c" &&
           ${CC:-cc} -fsanitize=address,undefined -o "$work/test" "$work"/*.o $(pkg-config --libs cmocka); } \
        >"$work/found" 2>&1; then
        return 2
    fi
    CMOCKA_MESSAGE_OUTPUT=STDOUT timeout -k 1 "$limit" "$work/test" >"$work/found" 2>&1
}

# A copy of the sources with the fault in it; false where the text is not there exactly once.
plant() { # FILE FROM TO
    rm -rf "$work/tree"
    mkdir -p "$work/tree/net"
    cp -R "$srcdir/coll_gpuring/net" "$srcdir/coll_gpuring/exec" "$work/tree/" && chmod -R u+w "$work/tree"
    FROM=$2 TO=$3 perl -0pi -e 'BEGIN { ($f, $t) = map { s/\\n/\n/g; s/\\([|&])/$1/g; s/%%/%/g; $_ } @ENV{qw(FROM TO)} }
        $n = s/\Q$f\E/$t/g; END { exit($n != 1) }' "$work/tree/net/$1"
}

tree=$srcdir/coll_gpuring
compile post.o "$srcdir/tests/unit/net/post.c" && compile net_test.o "$srcdir/tests/unit/net/net_test.c" || exit 99
passes "$srcdir/coll_gpuring"
result $? "the network as it is"
limit=60

while IFS= read -r row; do
    [ -n "$row" ] && sampled || continue
    row=${row//\\|/$'\x01'}
    IFS='|' read -r file what from to <<<"$row"
    trim() { local t=${1//$'\x01'/|}; t=${t# }; echo "${t% }"; }
    what=$(trim "$what")
    if ! plant "$(trim "$file")" "$(trim "$from")" "$(trim "$to")"; then
        echo "the text is not there exactly once: $(trim "$from")" >"$work/found"
        result 1 "$what"
        continue
    fi
    passes "$work/tree"
    status=$?
    [ $status != 0 ] && [ $status != 2 ]
    result $? "$what"
done <<<"$faults"
echo "1..$count"
