/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same messages on SimGrid's torus as on torus_sim's: schemes 1 and 3 must take the same time,
 * since no two of their messages share a link and SimGrid (a flow model) and torus_sim
 * (cut-through) then mean the same. Only tori on which no message goes exactly halfway around a
 * ring: SimGrid routes all of these one way.
 *
 *      torus_simgrid EXTENTS BYTES UNEVEN SCHEME       prints "simgrid US torus_sim US"
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

extern "C" {
#include "schemes.h"
}

namespace sg4 = simgrid::s4u;

static machine m;
static traffic all;
static predictor *predicted;
static int which;
static double sync_s, last;       /* seconds */
static std::vector<int> receipts; /* [tick][rank] */
static sg4::BarrierPtr barrier;

static std::string box(uint32_t tick, int rank)
{
    return std::to_string(rank) + "." + std::to_string(tick);
}

/* What one rank does. A barrier of SimGrid costs nothing; the sync's time is slept. */
static void rank_main(int rank)
{
    double begin = sync_s;

    sg4::this_actor::sleep_until(sync_s);
    for (uint32_t tick = 0; tick < all.nticks; tick++) {
        size_t cell = (size_t) tick * (size_t) all.nranks + (size_t) rank;
        /* all at once: SimGrid begins a transfer when both ends are there */
        std::vector<sg4::CommPtr> moves;
        std::vector<void *> payloads((size_t) receipts[cell]);

        if (tick > 0 && SCHEME_SYNC_EACH == which) {
            barrier->wait();
            sg4::this_actor::sleep_for(sync_s);
        }
        if (tick > 0 && SCHEME_PREDICTED == which) {
            begin += 1e-9 * predictor_tick(predicted, &m, tick - 1, nullptr);
            sg4::this_actor::sleep_until(begin);
        }
        for (uint32_t k = all.first[cell]; k < all.first[cell + 1]; k++) {
            const message &msg = all.messages[k];

            moves.push_back(sg4::Mailbox::by_name(box(tick, msg.to))
                                ->put_async(&m, (uint64_t) std::llround(msg.bytes)));
        }
        for (int k = 0; k < receipts[cell]; k++) {
            moves.push_back(
                sg4::Mailbox::by_name(box(tick, rank))->get_async<void>(&payloads[(size_t) k]));
        }
        for (auto &move : moves) {
            move->wait();
        }
    }
    last = std::max(last, sg4::Engine::get_clock());
}

/* SimGrid gives a torus one latency: set each link's own by its name. */
static int set_latencies(const sg4::Engine &e)
{
    int from, to, n = 0;

    for (auto *link : e.get_all_links()) {
        const char *ends = strstr(link->get_cname(), "from_");

        if (nullptr != ends && 2 == sscanf(ends, "from_%d_to_%d", &from, &to)) {
            int d = 0;

            while (gr_torus_coord(&m.torus, from, d) == gr_torus_coord(&m.torus, to, d)) {
                d++;
            }
            link->set_latency(1e-9 * m.hop[d]);
            n++;
        }
    }
    return n;
}

static void build(sg4::Engine &e)
{
    std::vector<unsigned long> extents(m.torus.dims, m.torus.dims + m.torus.ndims);
    auto host = [](sg4::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
        auto *h = zone->create_host("n" + std::to_string(id), "1Gf");
        return std::make_pair(h->get_netpoint(), (simgrid::kernel::routing::NetPoint *) nullptr);
    };
    sg4::ClusterCallbacks callbacks(host);
    auto *zone = sg4::create_torus_zone("torus", nullptr, extents, callbacks, 1e9 * m.bandwidth,
                                        1e-9 * m.hop[0], sg4::Link::SharingPolicy::SPLITDUPLEX);

    if (0 == set_latencies(e)) {
        fprintf(stderr, "no links of the expected names\n");
        exit(1);
    }
    zone->seal();
}

int main(int argc, char **argv)
{
    sg4::Engine e(&argc, argv);
    static const double hops[GR_MAX_DIMS] = {21, 25, 70, 35};
    static noise perfect;
    sizes sizes = {};
    outcome ours;

    if (argc != 5 || gr_torus_parse(argv[1], &m.torus) < 0) {
        return 2;
    }
    memcpy(m.hop, hops, sizeof(hops));
    m.bandwidth = 16;
    sizes.bytes = atof(argv[2]);
    sizes.uneven = atof(argv[3]);
    sizes.seed = 1;
    which = atoi(argv[4]);
    gr_alltoall_algo algo = gr_alltoall_suits(GR_ALLTOALL_SUH_SHIN, &m.torus) ? GR_ALLTOALL_SUH_SHIN
                                                                              : GR_ALLTOALL_ORDERED;
    if (traffic_alltoall(&all, algo, &m.torus, &sizes) < 0 ||
        nullptr == (predicted = predictor_make(&all))) {
        return 2;
    }
    for (size_t k = 0; k < all.nmessages; k++) {
        /* SimGrid's are whole */
        all.messages[k].bytes = (double) std::llround(all.messages[k].bytes);
    }
    if (scheme_run(&m, &all, &model_fifo, 0, (scheme) which, &perfect, nullptr, nullptr, &ours) <
        0) {
        return 2;
    }
    sync_s = 1e-9 * ours.sync_ns;
    receipts.resize((size_t) all.nticks * (size_t) all.nranks + 1);
    for (size_t k = 0; k < all.nmessages; k++) {
        receipts[(size_t) all.messages[k].tick * (size_t) all.nranks +
                 (size_t) all.messages[k].to]++;
    }
    build(e);
    barrier = sg4::Barrier::create((unsigned) all.nranks);
    for (int rank = 0; rank < all.nranks; rank++) {
        sg4::Actor::create("rank", e.host_by_name("n" + std::to_string(rank)), rank_main, rank);
    }
    e.run();
    printf("simgrid %.4f torus_sim %.4f\n", 1e6 * last, 1e-3 * ours.ns);
    return 0;
}
