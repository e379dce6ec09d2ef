// Beast's parser of requests, held to RFC 9112 where Beast is milder. Private to the server.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

#include "http/boost_assertion.h"  // IWYU pragma: keep
#include "http/message.h"

namespace horae {

// Drops the trailers of a chunked body. As headers they would count although a proxy in front has not seen them there.
class RequestParser : public boost::beast::http::request_parser<boost::beast::http::string_body> {
 private:
  void on_field_impl(boost::beast::http::field name, boost::beast::string_view name_text,
                     boost::beast::string_view value, boost::system::error_code& error) override;
};

// True if a header continues on a second line. `head` is what the parser took in one step while it read a head, which
// is never a part of a header.
bool has_folded_line(std::string_view head);

// What is wrong with a complete head, as the detail of a 400; empty if it is right. Checked are the encoding of the
// body, Host and the form of the target.
std::string fault_of_head(const RequestParser::value_type& head);

// Sets method, path, query and headers. From a target in absolute form comes Host, as if the client had sent that one. Requires
// a head without fault.
void copy_head(const RequestParser::value_type& head, HttpRequest& request);

}  // namespace horae
