/* Serves one row from C: serve MODEL.l0gm VALUE ..., a value per column that the model reads ("" where it is missing). */
#include <l0gm/c_api.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  l0gm_model* model = NULL;
  if (argc < 2 || l0gm_load(argv[1], NULL, &model) != L0GM_OK) {
    fprintf(stderr, "%s\n", argc < 2 ? "usage: serve_c MODEL.l0gm VALUE ..." : l0gm_last_error());
    return 2;
  }
  const size_t columns = l0gm_column_count(model), classes = l0gm_class_count(model);
  float* probabilities = malloc(classes * sizeof *probabilities);
  int status = 2;
  if ((size_t)argc - 2 != columns) {
    fprintf(stderr, "%d values given, wanted %zu:", argc - 2, columns);
    for (size_t i = 0; i < columns; ++i) fprintf(stderr, " %s", l0gm_column_name(model, i));
    fprintf(stderr, "\n");
  } else if (l0gm_predict_text(model, NULL, (const char* const*)argv + 2, NULL, 1, probabilities, NULL) != L0GM_OK) {
    fprintf(stderr, "%s\n", l0gm_last_error());
  } else {
    for (size_t i = 0; i < classes; ++i) printf("%s: %.4f\n", l0gm_class_name(model, i), probabilities[i]);
    status = 0;
  }
  free(probabilities);
  l0gm_free(model);
  return status;
}
