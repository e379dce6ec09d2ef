// What the tests beside this file share: one server for all, and a database for each. Defined in connection_pgtest.cc.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "stores/postgres/connection/connection.h"

namespace horae::testing {
class PostgresServer;
}

namespace horae::postgres {

// Finds deadlocks quickly.
horae::testing::PostgresServer& test_server();

// A fixture with an empty database.
class TestDatabase : public ::testing::Test {
 protected:
  TestDatabase();
  ~TestDatabase() override;

  const std::string& url() const { return url_; }
  std::string name() const;
  std::unique_ptr<Connection> connect() { return Connection::open(url_).value(); }

  // Runs SQL as the superuser, on a connection of its own; answers the first value. Dies if it fails.
  std::string ask(const std::string& sql);

 private:
  const std::string url_;
};

}  // namespace horae::postgres
