# The files that a report page is made of, and where the plotly wheel lies (scripts/setup installs it; `l0gm report --plotly` names another).
foreach(file page.html page.css elements.js figure.js plain_figure.js plotly_figure.js run_figures.js run_page.js runs_page.js start.js)
  string(REPLACE "." "_" name ${file})
  l0gm_embed(report report/page/${file} report_${name})
endforeach()
set(L0GM_VENV ${PROJECT_SOURCE_DIR}/.venv CACHE PATH "Virtual environment in which `l0gm report` looks for the plotly wheel")
set_source_files_properties(src/report/plotly_file.cpp PROPERTIES COMPILE_DEFINITIONS "L0GM_VENV=\"${L0GM_VENV}\"")
