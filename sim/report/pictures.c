/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "stepsim/pictures.h"

int ss_pictures_draw(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                     const struct ss_picture_request *request, struct ss_error *err)
{
    (void)program, (void)timeline, (void)engine, (void)request;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "no pictures yet");
}
