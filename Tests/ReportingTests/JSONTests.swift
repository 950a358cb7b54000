import FileValues
import Testing

@testable import Reporting

struct JSONTests {
    @Test func valuesAreWrittenInOrder() {
        let value = JSONValue.document([
            JSONField("z", .array([.null, .boolean(true), .integer(.min), .unsigned(.max), .number(0.5)])),
            JSONField("a", .object([])), JSONField("n", .number(.infinity)),
        ])
        #expect(
            value.compact
                == #"{"format":1,"z":[null,true,-9223372036854775808,18446744073709551615,0.5],"a":{},"n":null}"#)
    }

    @Test func stringsAreEscaped() {
        #expect(
            JSONValue.string("\"\\/\n\r\t\u{0}\u{1B}\u{7F}\u{9B}\u{2028}\u{202E}\u{2066}ä📷").compact
                == #""\"\\/\n\r\t\u0000\u001b\u007f\u009b\u2028\u202e\u2066ä📷""#)
    }

    @Test func pathsThatAreNotTextHaveBase64() {
        #expect(JSONField.path("file", "ä.jpg") == [JSONField("file", .string("ä.jpg"))])
        let fields = JSONField.path("file", BytePath([0x61, 0xFF]))
        #expect(JSONValue.object(fields).compact == #"{"file":"a�","file_base64":"Yf8="}"#)
    }

    @Test func momentsBeyondTheCalendarAreNull() {
        for seconds in [Int64.min, .max, 253_402_300_800, -62_167_219_201] {
            #expect(JSONValue.moment(seconds) == .null)
        }
    }
}
