/* SPDX-License-Identifier: Apache-2.0 */
/* Output of other programs, line by line. */
#include "base/base.h"
#include "study/study_internal.h"

#define MAX_BYTES ((size_t)256 << 20)

/* "[1,0]<stdout>:" of mpirun, "0: " of srun, "[rank0]:" or "[default0]:" of torchrun */
static char *skip_label(char *line)
{
    char *end;

    if (line[0] == '[' && (end = strchr(line, ']')) != NULL) {
        if (end[1] == ':')
            return end + 2;
        return strncmp(end + 1, "<stdout>:", 9) == 0 ? end + 10 : line;
    }
    char *number = line + strspn(line, " "); /* srun pads it */
    end = number + strspn(number, "0123456789");
    return end > number && end[0] == ':' && end[1] == ' ' ? end + 2 : line;
}

/* Changes text[len], behind which is a NUL: lines are cut in place. */
static int read_lines(char *text, size_t len, ss_log_line line, void *reader)
{
    char *next, *stop = text + len;
    int rc = SS_OK, number = 0;

    for (size_t i = 0; i < len; i++)
        if (!text[i])
            text[i] = ' ';
    for (char *at = text; at < stop && !rc; at = next) {
        char *end = memchr(at, '\n', (size_t)(stop - at));
        next = end ? end + 1 : stop;
        if (end)
            *end = '\0';
        number++;
        if (*at)
            rc = line(reader, skip_label(at), number);
    }
    return rc;
}

int ss_log_read(const char *name, const char *text, size_t len, ss_log_line line, void *reader,
                struct ss_error *err)
{
    char *copy;

    if (!text) {
        SS_TRY(ss_file_read(name, MAX_BYTES, &copy, &len, err));
    } else {
        copy = ss_calloc(len + 1, 1);
        SS_NEED(copy, err);
        memcpy(copy, text, len);
    }
    int rc = read_lines(copy, len, line, reader);
    free(copy);
    return rc;
}
