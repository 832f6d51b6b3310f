/* Calls a prediction library many times and reads the clock around it, so that the figures hold no Python.
 * bench/latency.py compiles this file (gcc -O2 -shared -fPIC), opens the libraries and hands over their functions; the prototypes
 * below are written by hand from the libraries' documentation. A "call" predicts `batch` consecutive rows of the test file. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum loop_kind {
  l0gm_numbers,
  l0gm_text,
  xgboost,
  lightgbm_row,
  lightgbm_rows,
  compiled_float,
  compiled_double,
  catboost_cpp,
  onnx
};

/* Mirrored in bench/peers/latency_engines.py: same fields, same order. */
typedef struct loop_engine {
  int64_t kind, columns, classes, threads, rows; /* rows: of the whole file */
  void* function;
  void* handle;                       /* model, booster, fast configuration or session */
  void* further;                      /* layout, proxy matrix */
  const char* settings;               /* of the call, as the library wants them */
  const double* numbers;              /* rows x columns */
  const char* const* cells;           /* rows x columns of text */
  const size_t* lengths;              /* of the cells */
  const void* const* prepared;        /* one per call of the file: array interface, OrtValue */
  void* output;                       /* room for the whole file */
  const void* result;                 /* where the last call left its results … */
  int64_t result_double, result_step; /* … and how: doubles or floats, numbers from row to row */
} loop_engine;

typedef int l0gm_numbers_call(const void*, const void*, const double*, size_t, float*, int64_t*);
typedef int l0gm_text_call(const void*, const void*, const char* const*, const size_t*, size_t, float*, int64_t*);
typedef int xgboost_call(void*, const char*, const char*, void*, const uint64_t**, uint64_t*, const float**);
typedef int lightgbm_row_call(void*, const void*, int64_t*, double*);
typedef int lightgbm_rows_call(void*, const void*, int, int32_t, int32_t, int, int, int, int, const char*, int64_t*, double*);
typedef void catboost_call(const double*, const char* const*, size_t, double*);
typedef void* onnx_call(void*, const void*, const char* const*, const void* const*, size_t, const char* const*, size_t, void**);

/* A row of a compiled tree library: the missing mark is -1 in the first four bytes. */
union float_entry {
  int32_t missing;
  float value;
};
union double_entry {
  int32_t missing;
  double value;
};
typedef void compiled_float_call(union float_entry*, int, float*);
typedef void compiled_double_call(union double_entry*, int, double*);

enum { most_columns = 64 };

static void compiled_rows(const loop_engine* e, size_t first, size_t end) {
  const size_t columns = (size_t)e->columns;
  for (size_t row = first; row < end; ++row) {
    const double* numbers = e->numbers + row * columns;
    if (e->kind == compiled_float) {
      union float_entry entries[most_columns];
      for (size_t c = 0; c < columns; ++c) {
        if (isnan(numbers[c]))
          entries[c].missing = -1;
        else
          entries[c].value = (float)numbers[c];
      }
      float* out = (float*)e->output + row;
      *out = 0;
      ((compiled_float_call*)e->function)(entries, 0, out);
    } else {
      union double_entry entries[most_columns];
      for (size_t c = 0; c < columns; ++c) {
        if (isnan(numbers[c]))
          entries[c].missing = -1;
        else
          entries[c].value = numbers[c];
      }
      double* out = (double*)e->output + row;
      *out = 0;
      ((compiled_double_call*)e->function)(entries, 0, out);
    }
  }
}

/* Code that the libraries export has no threads of its own: the rows are divided here. */
static void exported_rows(const loop_engine* e, size_t first, size_t end) {
  if (e->kind == catboost_cpp) {
    ((catboost_call*)e->function)(e->numbers + first * (size_t)e->columns, e->cells + first * (size_t)e->classes, end - first,
                                  (double*)e->output + first);
  } else {
    compiled_rows(e, first, end);
  }
}

typedef struct part {
  const loop_engine* engine;
  size_t first, end;
} part;

static void* run_part(void* argument) {
  const part* p = (const part*)argument;
  exported_rows(p->engine, p->first, p->end);
  return NULL;
}

static int run_exported(loop_engine* e, size_t first, size_t batch) {
  e->result_double = e->kind != compiled_float;
  e->result_step = 1;
  e->result = e->result_double ? (const void*)((double*)e->output + first) : (const void*)((float*)e->output + first);
  if (e->threads < 2 || batch < 2) {
    exported_rows(e, first, first + batch);
    return 0;
  }
  part other = {e, first + batch / 2, first + batch};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_part, &other) != 0) return -1;
  exported_rows(e, first, first + batch / 2);
  return pthread_join(thread, NULL);
}

static int run_ours(loop_engine* e, size_t first, size_t batch) {
  float* out = (float*)e->output + first * (size_t)e->classes;
  e->result = out + 1;
  e->result_double = 0;
  e->result_step = e->classes;
  const size_t begin = first * (size_t)e->columns;
  if (e->kind == l0gm_numbers)
    return ((l0gm_numbers_call*)e->function)(e->handle, e->further, e->numbers + begin, batch, out, NULL);
  return ((l0gm_text_call*)e->function)(e->handle, e->further, e->cells + begin, e->lengths + begin, batch, out, NULL);
}

static int run_lightgbm(loop_engine* e, size_t first, size_t batch) {
  enum { float64 = 1, row_major = 1, normal = 0, all_rounds = -1 };
  const double* numbers = e->numbers + first * (size_t)e->columns;
  double* out = (double*)e->output + first;
  int64_t length = 0;
  e->result = out;
  e->result_double = e->result_step = 1;
  if (e->kind == lightgbm_row) return ((lightgbm_row_call*)e->function)(e->handle, numbers, &length, out);
  return ((lightgbm_rows_call*)e->function)(e->handle, numbers, float64, (int32_t)batch, (int32_t)e->columns, row_major, normal,
                                            0, all_rounds, e->settings, &length, out);
}

static int run_xgboost(loop_engine* e, size_t first, size_t batch) {
  const uint64_t* shape = NULL;
  uint64_t dimensions = 0;
  const float* out = NULL;
  const int status = ((xgboost_call*)e->function)(e->handle, (const char*)e->prepared[first / batch], e->settings, e->further,
                                                  &shape, &dimensions, &out);
  e->result = out;
  e->result_double = 0;
  e->result_step = 1;
  return status;
}

static int run_onnx(loop_engine* e, size_t first, size_t batch) {
  static const char* const inputs[] = {"input"};
  static const char* const outputs[] = {"output"};
  const void* input = e->prepared[first / batch];
  void* output = e->further; /* an OrtValue over e->output, as long as a batch */
  e->result = e->output;
  e->result_double = 0;
  e->result_step = 1;
  return ((onnx_call*)e->function)(e->handle, NULL, inputs, &input, 1, outputs, 1, &output) == NULL ? 0 : -1;
}

static int run_call(loop_engine* e, size_t first, size_t batch) {
  switch (e->kind) {
    case l0gm_numbers:
    case l0gm_text:
      return run_ours(e, first, batch);
    case xgboost:
      return run_xgboost(e, first, batch);
    case lightgbm_row:
    case lightgbm_rows:
      return run_lightgbm(e, first, batch);
    case onnx:
      return run_onnx(e, first, batch);
    default:
      return run_exported(e, first, batch);
  }
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds of `calls` calls together, from row *first on, around the file's end to its beginning; -1: the library failed. */
int64_t loop_time(loop_engine* e, size_t batch, size_t calls, size_t* first) {
  const size_t last = (size_t)e->rows / batch * batch; /* calls are whole batches */
  size_t row = *first;
  const int64_t start = nanoseconds();
  for (size_t call = 0; call < calls; ++call) {
    if (row + batch > last) row = 0;
    if (run_call(e, row, batch) != 0) return -1;
    row += batch;
  }
  const int64_t spent = nanoseconds() - start;
  *first = row;
  return spent;
}

/* P(second class) of the file's rows by calls of `batch` rows; those behind the last whole batch stay untouched. */
int loop_probabilities(loop_engine* e, size_t batch, double* probabilities) {
  for (size_t row = 0; row + batch <= (size_t)e->rows; row += batch) {
    if (run_call(e, row, batch) != 0) return -1;
    for (size_t i = 0; i < batch; ++i) {
      const size_t at = i * (size_t)e->result_step;
      probabilities[row + i] = e->result_double ? ((const double*)e->result)[at] : (double)((const float*)e->result)[at];
    }
  }
  return 0;
}
