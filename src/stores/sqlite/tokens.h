// API tokens.
#pragma once

#include "store/token_store.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Tokens final : public TokenStore {
 public:
  explicit Tokens(Writer& writer);

  Result<Token> create(const Token& token) override;
  Result<bool> revoke(std::string_view id) override;
  Result<TokenList> tokens() override;

 private:
  std::optional<Error> why_not(const Token& token);

  Writer& writer_;
  Statement find_;
  Statement count_;
  Statement insert_;
  Statement delete_;
  Statement next_version_;
  Statement version_;
  Statement all_;
};

}  // namespace horae::sqlite
