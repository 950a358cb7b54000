import FileValues
import Storing
import Testing

@Suite("Addresses of buckets")
struct StoreAddressTests {
    @Test(
        "A key is the path in the library, after the path in the address",
        arguments: [
            ("https://s3.example.org/photos", "2026/a b.jpg", "2026/a b.jpg"),
            ("https://s3.example.org:8333/photos/", "a~+é.jpg", "a~+é.jpg"),
            ("http://10.0.0.1/photos/desk/one%20two/", "a.jpg", "desk/one two/a.jpg"),
        ])
    func keys(_ address: String, _ path: String, _ key: String) throws {
        #expect(try StoreAddress(address).key(of: BytePath(path)) == Array(key.utf8))
    }

    @Test("A name that is not UTF-8 has a key that is")
    func bytes() throws {
        let key = try StoreAddress("https://h.org/photos").key(
            of: BytePath(Array("d/50%".utf8) + [0xFF] + Array(".jpg".utf8)))
        #expect(String(validating: key, as: UTF8.self) == "d/50%25%FF.jpg")
    }

    @Test(
        "The region is that of AWS's host, or given, or us-east-1",
        arguments: [
            ("https://s3.eu-central-1.amazonaws.com/photos", nil, "eu-central-1"),
            ("https://s3.eu-central-1.amazonaws.com/photos", "eu-west-1", "eu-west-1"),
            ("https://s3.example.org/photos", nil, "us-east-1"), ("https://nas/photos", "garage", "garage"),
        ])
    func regions(_ address: String, _ given: String?, _ region: String) throws {
        #expect(try StoreAddress(address, region: given).region == region)
    }

    @Test(
        "An address without a bucket, or with more than one, is refused",
        arguments: [
            "", "photos", "s3://photos", "https://", "https://h.org", "https://h.org/", "https://h.org/ab",
            "https://h.org/a%2Fb%2Fc", "https://h.org/.photos", "https://u:p@h.org/photos", "https://h.org/photos?x=1",
            "https://h.org/photos#x", "https://h.org/photos/../other", "https://h.org/photos/%2E%2E/x",
            "https://h.org/pho tos", "https://h.org/photos/a%00b", "https://h.org/photos/a%FFb",
        ])
    func refusals(_ address: String) { #expect(throws: StoreRefusal.self) { try StoreAddress(address) } }

    @Test("A region with a character that none has is refused", arguments: ["", "a b", "a:b", "a/b", "a\nb"])
    func badRegions(_ region: String) {
        #expect(throws: StoreRefusal.self) { try StoreAddress("https://h.org/photos", region: region) }
    }
}

@Suite("Credentials of buckets")
struct StoreCredentialsTests {
    private func read(_ text: String) throws -> StoreCredentials {
        try StoreCredentials(file: Array(text.utf8), named: "key")
    }

    @Test("A file's section default counts, or the lines before any section")
    func files() throws {
        let plain = try read("aws_access_key_id=A\naws_secret_access_key = s+/=\n")
        #expect(
            try plain
                == read(
                    "# x\r\n[ default ]\r\n aws_access_key_id = A \r\naws_secret_access_key=s+/=\r\n[other]\naws_access_key_id=B"
                ))
        #expect(try plain != read("aws_access_key_id=A\naws_secret_access_key = s+/=\naws_session_token=t"))
        #expect(try plain == StoreCredentials { ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "s+/="][$0] })
    }

    @Test(
        "What is missing or cannot be signed with is refused",
        arguments: [
            "", "aws_access_key_id=A", "aws_secret_access_key=s",
            "[other]\naws_access_key_id=A\naws_secret_access_key=s",
            "aws_access_key_id=A:B\naws_secret_access_key=s", "aws_access_key_id=A\naws_secret_access_key=s t",
            "aws_access_key_id=A\naws_secret_access_key=s\naws_session_token=a\u{1}b",
        ])
    func refusals(_ text: String) { #expect(throws: StoreRefusal.self) { try read(text) } }
}
