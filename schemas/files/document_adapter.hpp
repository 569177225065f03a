// What valijson asks of a JSON library, over json::Document: judged are the very nodes that the rest of the program
// reads. Only judge.cpp includes this. Adapters are views, like json::Value.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <valijson/internal/adapter.hpp>
#include <valijson/internal/basic_adapter.hpp>
#include <valijson/internal/frozen_value.hpp>

#include "schemas/core/json.hpp"

namespace sallyport::schema {

class DocumentAdapter;
using DocumentMember = std::pair<std::string, DocumentAdapter>;

// Elements of an array, for valijson.
class DocumentArray {
 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = DocumentAdapter;
    using difference_type = std::ptrdiff_t;
    using pointer = DocumentAdapter*;
    using reference = DocumentAdapter;

    explicit const_iterator(json::Elements::iterator at) : at_(at) {}
    DocumentAdapter operator*() const;
    valijson::adapters::DerefProxy<DocumentAdapter> operator->() const;
    bool operator==(const const_iterator& other) const { return at_ == other.at_; }
    const_iterator& operator++() { return ++at_, *this; }
    const_iterator operator++(int) { return const_iterator(at_++); }
    // Wanted by uniqueItems alone, which our schemas do not use.
    const_iterator& operator--() { throw std::logic_error("uniqueItems is not supported"); }
    void advance(std::ptrdiff_t n) {
      for (; n > 0; --n) ++at_;
    }

   private:
    json::Elements::iterator at_;
  };
  using iterator = const_iterator;

  DocumentArray() = default;
  explicit DocumentArray(json::Value value) : value_(value) {}
  [[nodiscard]] const_iterator begin() const {
    return const_iterator(value_ ? value_.elements().begin() : json::Elements::iterator());
  }
  [[nodiscard]] const_iterator end() const {
    return const_iterator(value_ ? value_.elements().end() : json::Elements::iterator());
  }
  [[nodiscard]] std::size_t size() const { return value_ ? value_.size() : 0; }

 private:
  json::Value value_;
};

// Members of an object, for valijson.
class DocumentObject {
 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = DocumentMember;
    using difference_type = std::ptrdiff_t;
    using pointer = DocumentMember*;
    using reference = DocumentMember;

    explicit const_iterator(json::Members::iterator at) : at_(at) {}
    DocumentMember operator*() const;
    valijson::adapters::DerefProxy<DocumentMember> operator->() const;
    bool operator==(const const_iterator& other) const { return at_ == other.at_; }
    const_iterator& operator++() { return ++at_, *this; }
    const_iterator operator++(int) { return const_iterator(at_++); }

   private:
    json::Members::iterator at_;
  };
  using iterator = const_iterator;

  DocumentObject() = default;
  explicit DocumentObject(json::Value value) : value_(value) {}
  [[nodiscard]] const_iterator begin() const {
    return const_iterator(value_ ? value_.members().begin() : json::Members::iterator());
  }
  [[nodiscard]] const_iterator end() const {
    return const_iterator(value_ ? value_.members().end() : json::Members::iterator());
  }
  [[nodiscard]] const_iterator find(const std::string& name) const {
    auto at = value_ ? value_.members().begin() : json::Members::iterator();
    const auto end = value_ ? value_.members().end() : json::Members::iterator();
    while (at != end && !(*at).key.equals(name)) ++at;
    return const_iterator(at);
  }
  [[nodiscard]] std::size_t size() const { return value_ ? value_.size() : 0; }

 private:
  json::Value value_;
};

// A value that outlives its document: a copy of its text.
class DocumentFrozenValue : public valijson::adapters::FrozenValue {
 public:
  explicit DocumentFrozenValue(std::shared_ptr<const json::Document> document) : document_(std::move(document)) {}
  valijson::adapters::FrozenValue* clone() const override { return new DocumentFrozenValue(document_); }
  bool equalTo(const valijson::adapters::Adapter& other, bool strict) const override;

 private:
  std::shared_ptr<const json::Document> document_;
};

// A default-made one is an empty object, as valijson expects.
class DocumentValue {
 public:
  DocumentValue() = default;
  explicit DocumentValue(json::Value value) : value_(value) {}

  [[nodiscard]] valijson::adapters::FrozenValue* freeze() const {
    auto copy = json::Document::parse(std::string(value_ ? value_.raw() : "{}"), {.depth = 1000, .comments = true});
    return new DocumentFrozenValue(std::make_shared<const json::Document>(std::move(copy).value()));
  }
  [[nodiscard]] std::optional<DocumentArray> getArrayOptional() const {
    if (!isArray()) return {};
    return DocumentArray(value_);
  }
  bool getArraySize(std::size_t& result) const { return isArray() && (result = value_.size(), true); }
  bool getBool(bool& result) const { return isBool() && (result = value_.boolean(), true); }
  bool getDouble(double& result) const { return isNumber() && (result = value_.real(), true); }
  bool getInteger(std::int64_t& result) const { return isInteger() && (result = *value_.integer(), true); }
  [[nodiscard]] std::optional<DocumentObject> getObjectOptional() const {
    if (!isObject()) return {};
    return DocumentObject(value_);
  }
  bool getObjectSize(std::size_t& result) const { return isObject() && (result = value_ ? value_.size() : 0, true); }
  bool getString(std::string& result) const { return isString() && (result = value_.string(), true); }

  static bool hasStrictTypes() { return true; }
  [[nodiscard]] bool isArray() const { return value_ && value_.is_array(); }
  [[nodiscard]] bool isBool() const { return value_ && value_.is_bool(); }
  [[nodiscard]] bool isDouble() const { return isNumber() && !value_.integer(); }
  [[nodiscard]] bool isInteger() const { return isNumber() && value_.integer().has_value(); }
  [[nodiscard]] bool isNull() const { return value_ && value_.is_null(); }
  [[nodiscard]] bool isNumber() const { return value_ && value_.is_number(); }
  [[nodiscard]] bool isObject() const { return !value_ || value_.is_object(); }
  [[nodiscard]] bool isString() const { return value_ && value_.is_string(); }

 private:
  json::Value value_;
};

class DocumentAdapter : public valijson::adapters::BasicAdapter<DocumentAdapter, DocumentArray, DocumentMember,
                                                                DocumentObject, DocumentValue> {
 public:
  DocumentAdapter() = default;
  explicit DocumentAdapter(json::Value value) : BasicAdapter(DocumentValue(value)) {}
};

inline DocumentAdapter DocumentArray::const_iterator::operator*() const { return DocumentAdapter(*at_); }
inline valijson::adapters::DerefProxy<DocumentAdapter> DocumentArray::const_iterator::operator->() const {
  return valijson::adapters::DerefProxy<DocumentAdapter>(**this);
}
inline DocumentMember DocumentObject::const_iterator::operator*() const {
  const json::Member member = *at_;
  return {member.name(), DocumentAdapter(member.value)};
}
inline valijson::adapters::DerefProxy<DocumentMember> DocumentObject::const_iterator::operator->() const {
  return valijson::adapters::DerefProxy<DocumentMember>(**this);
}
inline bool DocumentFrozenValue::equalTo(const valijson::adapters::Adapter& other, bool strict) const {
  return DocumentAdapter(document_->root()).equalTo(other, strict);
}

}  // namespace sallyport::schema

template <>
struct valijson::adapters::AdapterTraits<sallyport::schema::DocumentAdapter> {
  using DocumentType = sallyport::json::Value;
  static std::string adapterName() { return "DocumentAdapter"; }
};
