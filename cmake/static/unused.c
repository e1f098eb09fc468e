/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Debian's static libraries call of ICU, liblzma and libudev, without 32 MB of tables. libxml2 opens a converter of ICU for
 * rare encodings: there is none, and it refuses the file. It unpacks xz files that it opens itself: it is handed texts alone.
 * hwloc asks udev about the disks of this machine: it is handed descriptions of others.
 */
#include <stdlib.h>

#if __has_include(<unicode/ucnv.h>)
#include <unicode/ucnv.h> /* whose names end in ICU's version */

UConverter *ucnv_open(const char *name, UErrorCode *status)
{
    (void)name;
    *status = U_FILE_ACCESS_ERROR;
    return NULL;
}

void ucnv_close(UConverter *converter)
{
    (void)converter;
}

/* No converter is ever open: the others are not reached. */
void ucnv_setToUCallBack(UConverter *converter, UConverterToUCallback action, const void *context,
                         UConverterToUCallback *old, const void **old_context, UErrorCode *status)
{
    (void)converter, (void)action, (void)context, (void)old, (void)old_context, (void)status;
    abort();
}

void ucnv_setFromUCallBack(UConverter *converter, UConverterFromUCallback action, const void *context,
                           UConverterFromUCallback *old, const void **old_context, UErrorCode *status)
{
    (void)converter, (void)action, (void)context, (void)old, (void)old_context, (void)status;
    abort();
}

void UCNV_TO_U_CALLBACK_STOP(const void *context, UConverterToUnicodeArgs *args, const char *units,
                             int32_t length, UConverterCallbackReason reason, UErrorCode *status)
{
    (void)context, (void)args, (void)units, (void)length, (void)reason, (void)status;
    abort();
}

void UCNV_FROM_U_CALLBACK_STOP(const void *context, UConverterFromUnicodeArgs *args, const UChar *units,
                               int32_t length, UChar32 point, UConverterCallbackReason reason,
                               UErrorCode *status)
{
    (void)context, (void)args, (void)units, (void)length, (void)point, (void)reason, (void)status;
    abort();
}

void ucnv_convertEx(UConverter *to, UConverter *from, char **target, const char *target_end,
                    const char **source, const char *source_end, UChar *start, UChar **at, UChar **end,
                    const UChar *limit, UBool reset, UBool flush, UErrorCode *status)
{
    (void)to, (void)from, (void)target, (void)target_end, (void)source, (void)source_end, (void)start;
    (void)at, (void)end, (void)limit, (void)reset, (void)flush, (void)status;
    abort();
}
#endif

/* Not reached either. */
#define NEVER(name)                                                                                          \
    void name(void);                                                                                         \
    void name(void)                                                                                          \
    {                                                                                                        \
        abort();                                                                                             \
    }
NEVER(lzma_auto_decoder)
NEVER(lzma_code)
NEVER(lzma_end)
NEVER(lzma_properties_decode)
NEVER(udev_device_get_property_value)
NEVER(udev_device_new_from_subsystem_sysname)
NEVER(udev_device_unref)
NEVER(udev_unref)

void *udev_new(void);
void *udev_new(void)
{
    return NULL;
}
