# l0gm_embed(FOLDER FILE NAME): the text of src/FILE as `extern const std::string_view l0gm::NAME` in the library of the folder, so that
# the program has no file to find at run time. A change of the file configures again; an unchanged text compiles nothing again.
function(l0gm_embed folder file name)
  set(source ${PROJECT_SOURCE_DIR}/src/${file})
  set(output ${CMAKE_BINARY_DIR}/generated/${folder}/${name}.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(FIND "${text}" ")embedded\"" closing)
  if(text STREQUAL "" OR NOT closing EQUAL -1)
    message(FATAL_ERROR "${source} is empty or holds )embedded\", which would end the literal")
  endif()

  # Compilers limit the length of one literal: adjacent ones of at most 8,000 bytes, cut at the ends of lines.
  set(literals "")
  string(LENGTH "${text}" left)
  while(left GREATER 0)
    string(SUBSTRING "${text}" 0 8000 piece)
    if(left GREATER 8000)
      string(FIND "${piece}" "\n" end REVERSE)
      if(end EQUAL -1)
        message(FATAL_ERROR "${source} has a line of more than 8,000 bytes; break it")
      endif()
      math(EXPR end "${end} + 1")
      string(SUBSTRING "${piece}" 0 ${end} piece)
    endif()
    string(LENGTH "${piece}" taken)
    string(SUBSTRING "${text}" ${taken} -1 text)
    math(EXPR left "${left} - ${taken}")
    string(APPEND literals "\n    R\"embedded(${piece})embedded\"")
  endwhile()

  file(WRITE ${output}.new "// Made by cmake/Embed.cmake from src/${file}.\n#include <string_view>\n\nnamespace l0gm {\n"
    "using namespace std::string_view_literals;\nextern const std::string_view ${name};\n"
    "constinit const std::string_view ${name} =${literals}sv;\n}  // namespace l0gm\n")
  file(COPY_FILE ${output}.new ${output} ONLY_IF_DIFFERENT)
  target_sources(l0gm_${folder} PRIVATE ${output})
endfunction()
