/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory near a device (topo/cpus.h): the NUMA node of a device, and the thread's memory policy. */
#include "topo/cpus.h"

#include "gpus_test.h"

#include <dirent.h>
#include <linux/mempolicy.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = GR_NUMA_NODES / (8 * sizeof(unsigned long)) };

struct policy {
    int mode;
    unsigned long nodes[WORDS];
};

/* ---- the node of a device ---- */

static void write_file(const char *folder, const char *device, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, device);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/numa_node", folder, device);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void the_kernel_says_the_node(void **state)
{
    static const struct {
        const char *device, *text;
        uint32_t domain, bus, slot;
        int node;
    } rows[] = {
        {"0000:3b:00.0", "1\n", 0, 0x3b, 0, 1}, {"0000:b3:1f.0", "0\n", 0, 0xb3, 0x1f, 0},
        {"0001:00:00.0", "12\n", 1, 0, 0, 12},  {"10000:e1:00.0", "3\n", 0x10000, 0xe1, 0, 3},
        {"0000:05:00.0", "-1\n", 0, 5, 0, -1},  {"0000:08:00.0", "-3\n", 0, 8, 0, -1},
        {"0000:06:00.0", "", 0, 6, 0, -1},      {"0000:07:00.0", "none\n", 0, 7, 0, -1},
    };
    char folder[] = "/tmp/gr_numa_test_XXXXXX", command[64];
    size_t k;

    assert_non_null(mkdtemp(folder));
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        write_file(folder, rows[k].device, rows[k].text);
    }
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (rows[k].node != gr_numa_of_pci(folder, rows[k].domain, rows[k].bus, rows[k].slot)) {
            fail_msg("%s: not node %d", rows[k].device, rows[k].node);
        }
    }
    assert_int_equal(gr_numa_of_pci(folder, 0, 0x3c, 0), -1);
    assert_int_equal(gr_numa_of_pci("/nonexistent", 0, 0x3b, 0), -1);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* All devices of this machine; none where it shows none. */
static void this_machine_says_the_node(void **state)
{
    static const char folder[] = GR_SYSFS_PCI;
    DIR *listing = opendir(folder);
    struct dirent *entry;
    unsigned domain, bus, device, function;
    char path[512], text[16];
    FILE *file;
    int tried = 0;

    while (NULL != listing && NULL != (entry = readdir(listing))) {
        if (4 != sscanf(entry->d_name, "%x:%x:%x.%x", &domain, &bus, &device, &function) ||
            0 != function || 0 == (domain | bus | device)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s/numa_node", folder, entry->d_name);
        file = fopen(path, "r");
        if (NULL != file && NULL != fgets(text, sizeof(text), file)) {
            assert_int_equal(gr_numa_of_pci(folder, domain, bus, device), atoi(text));
            tried++;
        }
        if (NULL != file) {
            fclose(file);
        }
    }
    if (NULL != listing) {
        closedir(listing);
    }
    assert_int_equal(gr_numa_of_pci(folder, 0xffff, 0xee, 0x1e), -1);
    if (0 == tried) {
        skip();
    }
}

/* ---- the policy of a thread ---- */

static void get_policy(struct policy *policy)
{
    memset(policy, 0, sizeof(*policy));
    assert_int_equal(
        syscall(SYS_get_mempolicy, &policy->mode, policy->nodes, GR_NUMA_NODES + 1ul, NULL, 0ul),
        0);
}

static int set_policy(int mode, const unsigned long *nodes)
{
    return (int) syscall(SYS_set_mempolicy, mode, nodes, NULL == nodes ? 0ul : GR_NUMA_NODES + 1ul);
}

/*
 * The last node that this process may take memory from, as a set in *nodes too; -1 where policies
 * cannot be set.
 */
static int some_node(unsigned long *nodes)
{
    unsigned long allowed[WORDS] = {0};
    const int bits = 8 * sizeof(unsigned long);
    int node = -1, k;

    if (0 != set_policy(MPOL_DEFAULT, NULL) ||
        0 != syscall(SYS_get_mempolicy, NULL, allowed, GR_NUMA_NODES + 1ul, NULL,
                     (unsigned long) MPOL_F_MEMS_ALLOWED)) {
        return -1;
    }
    for (k = 0; k < GR_NUMA_NODES; k++) {
        if (0 != (allowed[k / bits] >> k % bits & 1)) {
            node = k;
        }
    }
    memset(nodes, 0, sizeof(allowed));
    if (node >= 0) {
        nodes[node / bits] = 1ul << node % bits;
    }
    return node;
}

static void check_same(const struct policy *a, const struct policy *b)
{
    assert_int_equal(a->mode, b->mode);
    assert_memory_equal(a->nodes, b->nodes, sizeof(a->nodes));
}

static void a_node_is_preferred_meanwhile(void **state)
{
    static const int modes[] = {MPOL_DEFAULT, MPOL_BIND, MPOL_INTERLEAVE};
    struct policy before, meanwhile, after;
    struct gr_numa_saved saved;
    unsigned long nodes[WORDS];
    int node = some_node(nodes);
    size_t k;

    if (node < 0) {
        skip();
    }
    for (k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
        assert_int_equal(set_policy(modes[k], MPOL_DEFAULT == modes[k] ? NULL : nodes), 0);
        get_policy(&before);
        assert_int_equal(before.mode, modes[k]);
        assert_int_equal(gr_numa_prefer(node, &saved), 0);
        get_policy(&meanwhile);
        assert_int_equal(meanwhile.mode, MPOL_PREFERRED);
        assert_memory_equal(meanwhile.nodes, nodes, sizeof(nodes));
        gr_numa_restore(&saved);
        get_policy(&after);
        check_same(&after, &before);
        /* a second time it does nothing */
        assert_int_equal(set_policy(MPOL_PREFERRED, nodes), 0);
        gr_numa_restore(&saved);
        get_policy(&after);
        check_same(&after, &meanwhile);
    }
    assert_int_equal(set_policy(MPOL_DEFAULT, NULL), 0);
}

static void nodes_that_are_not_there_change_nothing(void **state)
{
    static const int wrong[] = {-1, GR_NUMA_NODES - 1, GR_NUMA_NODES, 1 << 30};
    struct policy before, after;
    struct gr_numa_saved saved;
    unsigned long nodes[WORDS];
    int node = some_node(nodes);
    size_t k;

    if (node >= 0) {
        assert_int_equal(set_policy(MPOL_BIND, nodes), 0);
        get_policy(&before);
    }
    for (k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        memset(&saved, 0xff, sizeof(saved));
        assert_int_equal(gr_numa_prefer(wrong[k], &saved), -1);
        assert_int_equal(saved.held, 0);
        gr_numa_restore(&saved);
        if (node >= 0) {
            get_policy(&after);
            check_same(&after, &before);
        }
    }
    set_policy(MPOL_DEFAULT, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_says_the_node),
        cmocka_unit_test(this_machine_says_the_node),
        cmocka_unit_test(a_node_is_preferred_meanwhile),
        cmocka_unit_test(nodes_that_are_not_there_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
