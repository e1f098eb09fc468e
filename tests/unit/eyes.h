/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of a colour "#rrggbb", and how far two colours are apart for them. */
#ifndef TESTS_UNIT_EYES_H
#define TESTS_UNIT_EYES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

enum eyes { ALL_COLOURS, DEUTERANOPE, GREY, EYES };

static inline double to_linear(unsigned channel)
{
    double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static inline double lab_curve(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* What eyes see of a colour, in L*a*b* under D65. Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
 * Color Vision Deficiency", 2009: the matrix of deuteranopia (severity 1.0), on linear RGB. */
static inline void see(const char *hex, int eyes, double lab[3])
{
    static const double dichromat[3][3] = {
        {0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}};
    static const double xyz[3][3] = {{0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047},
                                     {0.2126729, 0.7151522, 0.0721750},
                                     {0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883}};
    unsigned long rgb = strtoul(hex + 1, NULL, 16);
    double in[3] = {to_linear(rgb >> 16 & 255), to_linear(rgb >> 8 & 255), to_linear(rgb & 255)}, f[3];

    CU_ASSERT_EQUAL(strlen(hex), 7);
    if (eyes == DEUTERANOPE) {
        double out[3];
        for (int i = 0; i < 3; i++)
            out[i] =
                fmin(1, fmax(0, dichromat[i][0] * in[0] + dichromat[i][1] * in[1] + dichromat[i][2] * in[2]));
        memcpy(in, out, sizeof in);
    }
    for (int i = 0; i < 3; i++)
        f[i] = lab_curve(xyz[i][0] * in[0] + xyz[i][1] * in[1] + xyz[i][2] * in[2]);
    lab[0] = 116 * f[1] - 16;
    lab[1] = eyes == GREY ? 0 : 500 * (f[0] - f[1]);
    lab[2] = eyes == GREY ? 0 : 200 * (f[1] - f[2]);
}

static inline double distance(const char *a, const char *b, int eyes)
{
    double x[3], y[3];

    see(a, eyes, x);
    see(b, eyes, y);
    return sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                (x[2] - y[2]) * (x[2] - y[2]));
}

/* The ratio of contrast of two colours by WCAG 2.1: 1 to 21; texts need 4.5, what carries meaning without a text 3. */
static inline double contrast(const char *a, const char *b)
{
    double light[2];

    for (int i = 0; i < 2; i++) {
        unsigned long rgb = strtoul((i ? b : a) + 1, NULL, 16);
        light[i] = 0.2126 * to_linear(rgb >> 16 & 255) + 0.7152 * to_linear(rgb >> 8 & 255) +
                   0.0722 * to_linear(rgb & 255) + 0.05;
    }
    return fmax(light[0], light[1]) / fmin(light[0], light[1]);
}

#endif
