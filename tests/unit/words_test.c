/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of words (base/text.h): nothing is written behind their buffer, and a list that is cut
 * says so.
 */
#include "base/text.h"

#include <string.h>

#include "cmocka_test.h"

enum { ROOM = 64, FILLING = 0x5c };

static void a_list_never_leaves_its_buffer(void **state)
{
    static const char *const words[] = {"ring", "x", "a-word-of-twenty-bytes", "tree", "y"};
    char list[ROOM + 1], whole[ROOM + 1] = "auto";
    size_t size, k, i;

    for (k = 0; k < 5; k++) {
        strcat(strcat(whole, " "), words[k]);
    }
    for (size = strlen("auto") + sizeof(GR_WORDS_CUT); size <= ROOM; size++) {
        memset(list, FILLING, sizeof(list));
        strcpy(list, "auto");
        for (k = 0; k < 5; k++) {
            gr_words_add(list, size, words[k]);
        }
        assert_true(strlen(list) < size);
        for (i = size; i < sizeof(list); i++) {
            assert_int_equal(list[i], FILLING);
        }
        if (0 != strcmp(list, whole)) {
            assert_string_equal(list + strlen(list) - strlen(GR_WORDS_CUT), GR_WORDS_CUT);
            assert_memory_equal(list, whole, strlen(list) - strlen(GR_WORDS_CUT));
        }
    }
    assert_string_equal(list, whole);
}

/* Nothing comes behind the mark of a cut, not even what would fit. */
static void a_list_may_be_cut_at_its_first_word(void **state)
{
    char list[16] = "";

    gr_words_add(list, sizeof(list), "a-word-of-twenty-bytes");
    gr_words_add(list, sizeof(list), "x");
    assert_string_equal(list, GR_WORDS_CUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_never_leaves_its_buffer),
        cmocka_unit_test(a_list_may_be_cut_at_its_first_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
