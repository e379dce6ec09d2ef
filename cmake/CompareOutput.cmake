# cmake -DPROGRAM=... -DEXPECTED=file -P CompareOutput.cmake: fails unless the program prints exactly that file.
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${EXPECTED}" expected)
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${EXPECTED} differs from what ${PROGRAM} prints: run 'make docs' and commit the result")
endif()
