/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Debian's static libraries call of ICU, liblzma, libudev and GnuTLS, without 32 MB of tables. libxml2 opens a converter of ICU for
 * rare encodings: there is none, and it refuses the file. It unpacks xz files that it opens itself: it is handed texts alone.
 * hwloc asks udev about the disks of this machine: it is handed descriptions of others. libmicrohttpd calls GnuTLS for HTTPS, which stepsim
 * serve does not speak.
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
NEVER(gnutls_alpn_set_protocols)
NEVER(gnutls_bye)
NEVER(gnutls_certificate_allocate_credentials)
NEVER(gnutls_certificate_free_credentials)
NEVER(gnutls_certificate_server_set_request)
NEVER(gnutls_certificate_set_dh_params)
NEVER(gnutls_certificate_set_retrieve_function2)
NEVER(gnutls_certificate_set_retrieve_function3)
NEVER(gnutls_certificate_set_x509_key_mem)
NEVER(gnutls_certificate_set_x509_key_mem2)
NEVER(gnutls_certificate_set_x509_trust_mem)
NEVER(gnutls_cipher_get)
NEVER(gnutls_credentials_set)
NEVER(gnutls_deinit)
NEVER(gnutls_dh_params_deinit)
NEVER(gnutls_dh_params_import_pkcs3)
NEVER(gnutls_dh_params_init)
NEVER(gnutls_handshake)
NEVER(gnutls_init)
NEVER(gnutls_priority_deinit)
NEVER(gnutls_priority_init)
NEVER(gnutls_priority_set)
NEVER(gnutls_protocol_get_version)
NEVER(gnutls_psk_allocate_server_credentials)
NEVER(gnutls_psk_free_server_credentials)
NEVER(gnutls_psk_set_server_credentials_function)
NEVER(gnutls_record_check_pending)
NEVER(gnutls_record_get_direction)
NEVER(gnutls_record_recv)
NEVER(gnutls_record_send)
NEVER(gnutls_session_get_ptr)
NEVER(gnutls_session_set_ptr)
NEVER(gnutls_strerror)
NEVER(gnutls_transport_set_int2)
void *gnutls_malloc; /* a variable */

/* MHD_init calls these two. */
int gnutls_global_init(void);
int gnutls_global_init(void)
{
    return 0;
}

void gnutls_global_deinit(void);
void gnutls_global_deinit(void)
{
}

void *udev_new(void);
void *udev_new(void)
{
    return NULL;
}
