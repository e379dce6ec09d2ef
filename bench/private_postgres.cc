// private_postgres: a PostgreSQL for a script. Says its URL and keeps it until standard input ends, as it also does
// when the script dies.

#include <iostream>
#include <string>

#include "tests/support/postgres_server.h"

int main() {
  const horae::testing::PostgresServer server;
  std::cout << server.url() << std::endl;
  for (std::string ignored; std::getline(std::cin, ignored);) {
  }
}
