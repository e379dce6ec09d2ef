#include "http/test_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

#include "base/check.h"

namespace horae::testing {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

constexpr long kDay = 86'400;  // seconds

void add_extension(X509* certificate, int kind, const char* value) {
  const std::unique_ptr<X509_EXTENSION, Free> made(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value));
  HORAE_CHECK(made && X509_add_ext(certificate, made.get(), -1) == 1, "a certificate takes an extension");
}

Certificate make_certificate(const std::string& name, EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  add_extension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  HORAE_CHECK(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "a key signs");
  return certificate;
}

std::unique_ptr<std::FILE, Free> open_to_write(const std::string& path) {
  std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "w"));
  HORAE_CHECK(file != nullptr, "a folder of a test can be written");
  return file;
}

}  // namespace

TlsOptions write_certificate(const std::string& folder, const std::string& name, KeyKind kind) {
  const Key key(kind == KeyKind::kEc ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048));
  const Certificate certificate = make_certificate(name, key.get());
  TlsOptions paths{.certificate = folder + "/" + name + ".crt", .key = folder + "/" + name + ".key"};
  PEM_write_X509(open_to_write(paths.certificate).get(), certificate.get());
  PEM_write_PrivateKey(open_to_write(paths.key).get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return paths;
}

}  // namespace horae::testing
