/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters as the user wrote them: in the environment, where mpirun puts what follows its --mca,
 * and in Open MPI's parameter files. Open MPI says nothing of a name that no component registers,
 * and reads a number from the text's beginning or takes the default in its place.
 */
#define _GNU_SOURCE 1 /* asprintf, environ */
#include "mpi/params.h"

#include "opal/mca/base/mca_base_var.h"
#include "opal/util/argv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX "coll_gpuring_"
#define ENVIRONMENT "OMPI_MCA_" PREFIX

/* Entries "name=value" without PREFIX; what counts comes first. */
static char **given;

/* Keep the entry `text`, "name = value" with blanks, unless the name is there already. */
static void keep(char *text)
{
    char *value = strchr(text, '='), *entry, *name_end;

    if (NULL == value) {
        return;
    }
    for (name_end = value; name_end > text && isspace((unsigned char) name_end[-1]); name_end--) {
    }
    *name_end = '\0';
    value++;
    value += strspn(value, " \t\"");
    value[strcspn(value, "\"\r\n")] = '\0';
    if (NULL == mca_coll_gpuring_param_given(text) && asprintf(&entry, "%s=%s", text, value) >= 0) {
        (void) opal_argv_append_nosize(&given, entry);
        free(entry);
    }
}

static void read_environment(void)
{
    char **entry, *text;

    for (entry = environ; NULL != *entry; entry++) {
        if (0 == strncmp(*entry, ENVIRONMENT, strlen(ENVIRONMENT))) {
            text = strdup(*entry + strlen(ENVIRONMENT));
            if (NULL != text) {
                keep(text);
            }
            free(text);
        }
    }
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[4096], *text;

    while (NULL != f && NULL != fgets(line, sizeof(line), f)) {
        text = line + strspn(line, " \t");
        if (0 == strncmp(text, PREFIX, strlen(PREFIX))) {
            keep(text + strlen(PREFIX));
        }
    }
    if (NULL != f) {
        fclose(f);
    }
}

/* The files that Open MPI has read, in their order. */
static void read_files(void)
{
    const char *const *list = NULL;
    char **paths;
    int index, k;

    if (0 > mca_base_var_find_by_name("mca_base_param_files", &index) ||
        OPAL_SUCCESS != mca_base_var_get_value(index, &list, NULL, NULL) || NULL == list ||
        NULL == *list) {
        return;
    }
    paths = opal_argv_split(*list, strchr(*list, ',') ? ',' : ':');
    for (k = 0; NULL != paths && NULL != paths[k]; k++) {
        read_file(paths[k]);
    }
    opal_argv_free(paths);
}

void mca_coll_gpuring_params_read_given(void)
{
    read_environment();
    read_files();
}

void mca_coll_gpuring_params_forget_given(void)
{
    opal_argv_free(given);
    given = NULL;
}

const char *mca_coll_gpuring_param_given(const char *name)
{
    size_t n = strlen(name);
    char **entry;

    for (entry = given; NULL != entry && NULL != *entry; entry++) {
        if (0 == strncmp(*entry, name, n) && '=' == (*entry)[n]) {
            return *entry + n + 1;
        }
    }
    return NULL;
}

const char *mca_coll_gpuring_param_unknown(int *at, char *name, size_t size)
{
    int k;

    for (; NULL != given && NULL != given[*at]; ++*at) {
        snprintf(name, size, "%.*s", (int) strcspn(given[*at], "="), given[*at]);
        for (k = 0; k < GR_PARAM_ROWS && 0 != strcmp(name, mca_coll_gpuring_param_rows[k].name);
             k++) {
        }
        if (GR_PARAM_ROWS == k) {
            ++*at;
            return name;
        }
    }
    return NULL;
}
