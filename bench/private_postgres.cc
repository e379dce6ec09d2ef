// private_postgres: a PostgreSQL server for a script. Prints its URL and runs until standard input is closed, which also
// happens when the script dies.

#include <iostream>
#include <string>

#include "tests/support/postgres_server.h"

int main() {
  const horae::testing::PostgresServer server;
  std::cout << server.url() << std::endl;
  for (std::string ignored; std::getline(std::cin, ignored);) {
  }
}
