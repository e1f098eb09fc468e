/* SPDX-License-Identifier: Apache-2.0 */
/* An outside program: only installed headers, only the installed library. */
#include <stdio.h>
#include <string.h>

#include <stepsim/stepsim.h>

int main(void)
{
    struct ss_error err = {0};
    char text[1024];
    if (ss_status_exit(SS_ERR_CONFIG) != 3 || strcmp(ss_label_name(SS_LABEL_DP), "dp"))
        return 1;
    err.code = SS_ERR_INPUT;
    err.line = 3;
    strcpy(err.file, "a.xml");
    strcpy(err.message, "bad");
    puts(ss_error_format(&err, text, sizeof text));
    return strcmp(text, "a.xml:3: error: bad") != 0;
}
