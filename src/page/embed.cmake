# cmake -DFILES=... -DDYGRAPHS_JS=... -DDYGRAPHS_CSS=... -DTO=pages.c -P embed.cmake: the table of page.h with the bytes
# of the files. The same files give the same text.

set(TYPE_html "text/html; charset=utf-8")
set(TYPE_css "text/css; charset=utf-8")
set(TYPE_js "text/javascript; charset=utf-8")
set(TYPE_svg "image/svg+xml")
set(ARRAYS "")
set(ROWS "")
set(COUNT 0)

# embed(PATH FILE): FILE "" has no bytes.
function(embed PATH FILE)
  set(HEX "")
  if(FILE)
    file(READ ${FILE} HEX HEX)
    # A note for debuggers that names a file which is not served: "//# sourceMappingURL=...", in CSS /*# ... */.
    string(REGEX REPLACE "2f[2a][fa]2320736f757263654d617070696e6755524c3d[0-9a-f]*$" "" HEX "${HEX}")
  endif()
  string(LENGTH "${HEX}" N)
  math(EXPR N "${N} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" HEX "${HEX}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," HEX "${HEX}")
  get_filename_component(EXT ${PATH} LAST_EXT)
  string(SUBSTRING "${EXT}" 1 -1 EXT)
  set(TYPE "${TYPE_${EXT}}")
  if(PATH STREQUAL "/index.html")
    set(PATH "/")
  endif()
  set(ARRAYS "${ARRAYS}static const unsigned char file_${COUNT}[] = {\n${HEX}0x00\n};\n" PARENT_SCOPE)
  set(ROWS "${ROWS}    { \"${PATH}\", \"${TYPE}\", file_${COUNT}, ${N} },\n" PARENT_SCOPE)
  math(EXPR COUNT "${COUNT} + 1")
  set(COUNT ${COUNT} PARENT_SCOPE)
endfunction()

foreach(FILE ${FILES})
  get_filename_component(NAME ${FILE} NAME)
  embed(/${NAME} ${FILE})
endforeach()
embed(/dygraph.js "${DYGRAPHS_JS}")
embed(/dygraph.css "${DYGRAPHS_CSS}")
file(WRITE ${TO} "/* Made by embed.cmake. */\n#include \"page/page.h\"\n\n${ARRAYS}
const ll_page ll_pages[] = {\n${ROWS}    { 0, 0, 0, 0 },\n};\n")
