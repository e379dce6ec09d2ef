// API tokens.
#pragma once

#include "store/token_store.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

class Tokens final : public TokenStore {
 public:
  explicit Tokens(Pool& pool) : pool_(pool) {}

  Result<Token> create(const Token& token) override;
  Result<bool> revoke(std::string_view id) override;
  Result<TokenList> tokens() override;

 private:
  Pool& pool_;
};

}  // namespace horae::postgres
