/* Serving a compact model (.l0gm) from C. Link libl0gm_runtime; no LibTorch, no Python.
 *   l0gm_model* model = NULL;
 *   if (l0gm_load("adult.l0gm", NULL, &model) != L0GM_OK) puts(l0gm_last_error());
 *   else l0gm_predict_text(model, NULL, cells, NULL, rows, probabilities, NULL);
 *   l0gm_free(model);
 * Handles are opaque. Every function that can fail returns an l0gm_status; l0gm_last_error() says in words what the last failing
 * call of this thread found, what was wanted and what to do. A model may be used by any number of threads at once. */
#ifndef L0GM_C_API_H
#define L0GM_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define L0GM_C_API __attribute__((visibility("default")))
#else
#define L0GM_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when a signature or a meaning changes, not when functions are added. Compare with l0gm_abi_version() after loading
 * the library. */
#define L0GM_ABI_VERSION 2

typedef enum l0gm_status {
  L0GM_OK = 0,
  L0GM_BAD_ARGUMENT = 1, /* a null pointer, a size that does not fit, an unknown column */
  L0GM_BAD_FILE = 2,     /* missing, damaged, forged, of a newer version, or not a compact model */
  L0GM_NOT_FINITE = 3,   /* a probability is not finite */
  L0GM_OUT_OF_MEMORY = 4,
  L0GM_INTERNAL = 5 /* a bug in l0gm */
} l0gm_status;

typedef struct l0gm_model l0gm_model;
typedef struct l0gm_layout l0gm_layout;

typedef struct l0gm_options {
  int32_t threads; /* threads that one call may use for a large batch; 0 or 1: only the caller's */
  int32_t
      calibrated; /* above 0: apply the stored calibrator; below 0: raw; 0: apply it where validation rows say that it helps */
} l0gm_options;

L0GM_C_API int32_t l0gm_abi_version(void);
L0GM_C_API const char* l0gm_version(void);
L0GM_C_API const char* l0gm_last_error(void); /* of this thread; valid until its next failing call; "" if there was none */

/* options may be NULL. On success *model must be given to l0gm_free. */
L0GM_C_API l0gm_status l0gm_load(const char* path, const l0gm_options* options, l0gm_model** model);
L0GM_C_API void l0gm_free(l0gm_model* model); /* NULL is fine */

L0GM_C_API size_t l0gm_column_count(const l0gm_model* model);
L0GM_C_API const char* l0gm_column_name(const l0gm_model* model,
                                        size_t column); /* NULL beyond the last; valid as long as the model */
L0GM_C_API int32_t l0gm_column_is_numeric(const l0gm_model* model, size_t column);
L0GM_C_API size_t l0gm_class_count(const l0gm_model* model);
L0GM_C_API const char* l0gm_class_name(const l0gm_model* model, size_t index);
L0GM_C_API const char* l0gm_manifest(const l0gm_model* model); /* JSON */
L0GM_C_API size_t l0gm_memory_bytes(const l0gm_model* model);
L0GM_C_API int32_t l0gm_is_calibrated(const l0gm_model* model); /* 1: the stored calibrator is applied */

/* The positions of the model's columns in rows with these column names. Only for the model it was made for. */
L0GM_C_API l0gm_status l0gm_layout_create(const l0gm_model* model, const char* const* names, size_t count, l0gm_layout** layout);
L0GM_C_API void l0gm_layout_free(l0gm_layout* layout);

/* The code of a text of a categorical column, for rows of numbers. length: bytes of text. */
L0GM_C_API l0gm_status l0gm_code(const l0gm_model* model, size_t column, const char* text, size_t length, int32_t* code);

/* probabilities: rows * l0gm_class_count floats. layout NULL: rows have exactly the model's columns.
 * counts: NULL, or 3 * l0gm_column_count numbers that are added to: unseen, unreadable, missing, each per column; calls at the
 * same time must not share them. After an error the probabilities are undefined. numbers: rows of doubles; a numeric column's
 * value (NaN: missing), any other column's l0gm_code. */
L0GM_C_API l0gm_status l0gm_predict_numbers(const l0gm_model* model, const l0gm_layout* layout, const double* numbers,
                                            size_t rows, float* probabilities, int64_t* counts);
/* cells: rows of texts; lengths: their bytes, or NULL when all end with a zero byte. A NULL cell is missing. */
L0GM_C_API l0gm_status l0gm_predict_text(const l0gm_model* model, const l0gm_layout* layout, const char* const* cells,
                                         const size_t* lengths, size_t rows, float* probabilities, int64_t* counts);

#ifdef __cplusplus
}
#endif

#endif
