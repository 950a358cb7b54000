import PhotoModel
import Testing

struct CataloguePlaceTests {
    @Test(
        "Words of libpq are no path",
        arguments: [
            ("service=photoinbox", true), (" host = /run/postgresql dbname=photos", true),
            ("postgresql://db/photos", true), ("postgres://db", true), ("/srv/a=b.sqlite", false),
            ("./host=x", false), ("catalogue.sqlite", false), ("", false),
        ])
    func isServer(text: String, isServer: Bool) { #expect(CataloguePlace.isServer(text) == isServer) }

    @Test(
        "Passwords are found in words and addresses",
        arguments: [
            ("host=db password=secret", true), ("password = 'a b'", true), ("sslpassword=x sslkey=k", true),
            ("postgresql://u:secret@db/photos", true), ("postgres://u:@db", true),
            ("postgresql://db/photos?user=u&password=secret", true), ("host=db passfile=/etc/pw user=u", false),
            ("postgresql://u@db:5432/photos", false), ("postgresql://db:5432,db2:5433/photos?passfile=/x", false),
            ("host='/x'password=secret", true), ("postgresql://db/photos?pass%77ord=secret", true),
            ("host=db oauth_client_secret=x", true), ("service=password", false),
        ])
    func hasPassword(words: String, hasPassword: Bool) { #expect(CataloguePlace.hasPassword(words) == hasPassword) }
}
