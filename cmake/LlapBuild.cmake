# How everything here is compiled, and the helpers that make a layer and a test.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(llap_flags INTERFACE)
# No contraction: a*b+c rounds the same on every path; fused products are written as fma(). Nobody
# reads errno or exception flags after mathematics, and saying so changes no value.
target_compile_options(llap_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wshadow;-Wvla;-Wmissing-prototypes;-Wstrict-prototypes;-Wformat=2;-Wundef;-Wpointer-arith;-ffp-contract=off;-fno-math-errno;-fno-trapping-math>)
# Messages are cut at their buffer's end on purpose.
target_compile_options(llap_flags INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
target_compile_definitions(llap_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
if(LLAP_SIMD STREQUAL "off")
  target_compile_definitions(llap_flags INTERFACE LLAP_NO_SIMD)
endif()
if(LLAP_WERROR)
  target_compile_options(llap_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(LLAP_FUZZER)
  target_compile_options(llap_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LLAP_SANITIZE)
  target_compile_options(llap_flags INTERFACE -fsanitize=${LLAP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(llap_flags INTERFACE -fsanitize=${LLAP_SANITIZE})
endif()

# llap_layer(NAME SOURCES ... [USES layer...] [LIBS lib...] [CONVERSION])
# A folder under src/ as a static library. Its headers are reached as "NAME/x.h" through an include
# root that holds this folder alone, so that including a layer one does not name fails to build.
function(llap_layer NAME)
  cmake_parse_arguments(L "CONVERSION" "" "SOURCES;USES;LIBS" ${ARGN})
  string(REPLACE "/" "_" ID ${NAME})
  set(ROOT ${CMAKE_BINARY_DIR}/layers/${ID})
  get_filename_component(PARENT ${ROOT}/${NAME} DIRECTORY)
  file(MAKE_DIRECTORY ${PARENT})
  file(GLOB INNER ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  if(INNER) # layers inside this one are not its headers
    file(REMOVE_RECURSE ${ROOT}/${NAME})
    file(MAKE_DIRECTORY ${ROOT}/${NAME})
    file(GLOB HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
    foreach(HEADER ${HEADERS})
      get_filename_component(FILE ${HEADER} NAME)
      file(CREATE_LINK ${HEADER} ${ROOT}/${NAME}/${FILE} SYMBOLIC)
    endforeach()
  else()
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${ROOT}/${NAME} SYMBOLIC)
  endif()
  add_library(llap_${ID} STATIC ${L_SOURCES})
  target_include_directories(llap_${ID} PUBLIC ${ROOT} ${CMAKE_SOURCE_DIR}/include)
  list(TRANSFORM L_USES PREPEND llap_)
  target_link_libraries(llap_${ID} PUBLIC ${L_USES} PRIVATE llap_flags ${L_LIBS})
  if(L_CONVERSION)
    target_compile_options(llap_${ID} PRIVATE -Wconversion)
  endif()
  set_property(GLOBAL APPEND PROPERTY LLAP_LAYERS llap_${ID})
endfunction()

# llap_test(NAME SOURCES ... [LIBS layer-target...] [LABELS label...])
# A cmocka program under build/bin/tests, run by ctest as NAME.
function(llap_test NAME)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  string(REPLACE "/" "_" ID test_${NAME})
  add_executable(${ID} ${T_SOURCES})
  target_link_libraries(${ID} PRIVATE llap_flags ${T_LIBS} PkgConfig::cmocka m)
  set_target_properties(${ID} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests)
  add_test(NAME ${NAME} COMMAND ${ID})
  # Threads that wait for each other by spinning starve where several tests share the processors.
  set_tests_properties(${NAME} PROPERTIES LABELS "${T_LABELS}" ENVIRONMENT OMP_WAIT_POLICY=passive)
  llap_group(${NAME} ${ID})
endfunction()

# llap_group(FOLDER/NAME TARGET): building tests-FOLDER builds TARGET.
function(llap_group NAME TARGET)
  string(REGEX REPLACE "/.*" "" FOLDER ${NAME})
  if(NOT TARGET tests-${FOLDER})
    add_custom_target(tests-${FOLDER})
  endif()
  add_dependencies(tests-${FOLDER} ${TARGET})
endfunction()

# llap_isa_flags(FILE avx2|avx512|amx): compiles this one file for that instruction set. Its functions
# run only after base/cpu.h has found it.
function(llap_isa_flags FILE ISA)
  if(NOT LLAP_SIMD STREQUAL "off" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(avx2 -mavx2 -mfma)
    set(avx512 ${avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl)
    set(amx ${avx512} -mamx-tile -mamx-bf16)
    set_source_files_properties(${FILE} PROPERTIES COMPILE_OPTIONS "${${ISA}}")
  endif()
endfunction()

# llap_fuzz(NAME LIBS layer-target...): tests/fuzz/fuzz_NAME.c with seeds in tests/fuzz/corpus/NAME.
# ctest runs a short fixed count; with LLAP_FUZZER the program is a libFuzzer one.
function(llap_fuzz NAME)
  cmake_parse_arguments(F "" "" "LIBS" ${ARGN})
  add_executable(fuzz_${NAME} fuzz_${NAME}.c)
  target_link_libraries(fuzz_${NAME} PRIVATE llap_flags ${F_LIBS} m)
  llap_group(fuzz/${NAME} fuzz_${NAME})
  set_target_properties(fuzz_${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
  if(LLAP_FUZZER)
    target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${NAME} PRIVATE driver.c)
    target_link_libraries(fuzz_${NAME} PRIVATE llap_base_rng)
    add_test(NAME fuzz/${NAME} COMMAND fuzz_${NAME} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${NAME})
  endif()
endfunction()

# llap_bench(NAME SOURCES ... [LIBS layer-target...]): a program under build/bin/bench, built and run
# by `make bench`. It prints ratios measured within one run.
add_custom_target(benches)
function(llap_bench NAME)
  cmake_parse_arguments(B "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${NAME} EXCLUDE_FROM_ALL ${B_SOURCES})
  target_link_libraries(bench_${NAME} PRIVATE llap_flags ${B_LIBS} m)
  set_target_properties(bench_${NAME} PROPERTIES
    OUTPUT_NAME ${NAME} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bench)
  add_dependencies(benches bench_${NAME})
endfunction()
