/// The tables in PostgreSQL, as a list of named versions. Versions are only added; a shipped one is never edited.
///
/// All objects are in one schema, the only one of the search path. Version 1 is what ``Schema`` makes up to its migration 17: see
/// there for what tables and columns mean. Texts are compared by their bytes (`COLLATE "C"`), as in SQLite, so the locale of the
/// database has no effect. References may be deferred (`SET CONSTRAINTS ALL DEFERRED`) by who copies rows.
enum PostgreSQLSchema {
    struct Version: Sendable {
        let name: String
        /// One statement.
        let sql: String
        /// The oldest version whose programs may still write what this one makes, and read it.
        let oldestWriter: Int
        let oldestReader: Int
    }

    static let versions = [
        Version(
            name: "1 as SQLite has it after 17",
            sql:
                "DO $version$ BEGIN\n\([functions, tables, texts, tiles, due, hosts].joined(separator: "\n"))\nEND $version$",
            oldestWriter: 1, oldestReader: 1),
        Version(
            name: "2 several daemons", sql: "DO $version$ BEGIN\n\(severalHosts)\nEND $version$", oldestWriter: 2,
            oldestReader: 1),
        Version(
            name: "3 photos of a day by host", sql: "DO $version$ BEGIN\n\(countsByHost)\nEND $version$",
            oldestWriter: 2,
            oldestReader: 1),
        Version(
            name: "4 plans of triggers are kept", sql: "DO $version$ BEGIN\n\(keptPlans)\nEND $version$",
            oldestWriter: 2,
            oldestReader: 1),
    ]

    // MARK: - Functions

    private static let functions = """
        -- The text that bytes are, with U+FFFD for what is no text. Never an error. A byte 0 is refused by PostgreSQL in texts.
        CREATE FUNCTION text_of(bytes bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
        DECLARE
            -- The same length means letters of ASCII.
            ascii CONSTANT text := encode(bytes, 'escape');
        BEGIN
            IF octet_length(ascii) = octet_length(bytes) THEN RETURN ascii; END IF;
            RETURN (
                SELECT coalesce(convert_from(decode(string_agg(coalesce(m[1], 'efbfbd'), '' ORDER BY n), 'hex'), 'UTF8'), '')
                FROM regexp_matches(encode(bytes, 'hex'), '((?:0[1-9a-f]|[1-7].|(?:c[2-9a-f]|d.|e0[ab].|e[1-9abcef][89ab].|'
                    || 'ed[89].|f0[9ab].[89ab].|f[1-3][89ab].[89ab].|f48.[89ab].)[89ab].)+)|..', 'g') WITH ORDINALITY AS r (m, n));
        END $$;

        -- Whether a position is at most `radius` metres from another: SearchArea.contains(latitude:longitude:).
        CREATE FUNCTION is_inside(
            latitude double precision, longitude double precision, north double precision, east double precision,
            radius double precision
        ) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
            2 * asin(least(1, sqrt(
                sin((north * pi() / 180 - latitude * pi() / 180) / 2) * sin((north * pi() / 180 - latitude * pi() / 180) / 2)
                + cos(north * pi() / 180) * cos(latitude * pi() / 180)
                    * (sin((east - longitude) * pi() / 360) * sin((east - longitude) * pi() / 360))
            ))) * 180 / pi() * (6371008.8 * pi() / 180) <= radius;

        CREATE FUNCTION is_inside(
            latitude double precision, longitude double precision, west double precision, south double precision,
            east double precision, north double precision
        ) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
            CASE WHEN west <= east THEN west <= longitude AND longitude <= east
                ELSE west <= longitude OR longitude <= east END
            AND south <= latitude AND latitude <= north;

        -- Words in one line, as unicode61 of SQLite's FTS5 makes them with remove_diacritics 2: whatever is between them is one
        -- space, and their letters are folded.
        CREATE FUNCTION folded_words(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
        DECLARE
            letters text;
            others text;
        BEGIN
            IF octet_length(given) = length(given) THEN
                RETURN btrim(regexp_replace(lower(given COLLATE "C"), '[^0-9a-z]+', ' ', 'g'));
            END IF;
            given := regexp_replace(given COLLATE "C", '[\(PostgreSQLLetters.marks)]+', '', 'g');
            given := regexp_replace(given COLLATE "C", '[\\u0001-/:-@[-`{-\\u007f\(PostgreSQLLetters.separators)]+', ' ', 'g');
            -- Few letters of one text differ when they are folded, and translate() compares each with all.
            SELECT string_agg(letter, ''), string_agg(substr('\(PostgreSQLLetters.folded)', place, 1), '')
                INTO letters, others
                FROM (SELECT letter, strpos('\(PostgreSQLLetters.unfolded)', letter) AS place FROM (
                    SELECT DISTINCT letter COLLATE "C" AS letter
                    FROM regexp_split_to_table(
                        regexp_replace(given COLLATE "C", '[^\(PostgreSQLLetters.unfolded)]+', '', 'g'), '') AS letter
                ) AS of_text) AS places WHERE place > 0 AND letter <> '';
            RETURN btrim(lower(coalesce(translate(given, letters, others), given) COLLATE "C"));
        END $$;

        -- The words of title, keywords, people, place, name, gear and caption. Those of the first four also with a mark, by which
        -- they are found alone; a gap keeps phrases within one. What is too long for PostgreSQL is cut: words at 500 letters, the
        -- whole at 200,000 bytes; from the 16,383rd word on, words are found, and phrases of them are not.
        CREATE FUNCTION text_vector(VARIADIC texts text[]) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
            RETURN (
                SELECT coalesce(string_agg(
                    word || ':' || place
                        || CASE WHEN i > 4 THEN '' ELSE ' ' || substr('=#@/', i::integer, 1) || word || ':' || place END,
                    ' '), '')::tsvector
                FROM (
                    SELECT i, left(word, 500) AS word, i + row_number() OVER ordered AS place,
                        sum(octet_length(word) + 1) OVER ordered AS bytes
                    FROM unnest(texts) WITH ORDINALITY AS t (given, i),
                        unnest(string_to_array(folded_words(left(given, 200000)), ' ')) WITH ORDINALITY AS w (word, n)
                    WHERE word <> '' WINDOW ordered AS (ORDER BY i, n ROWS UNBOUNDED PRECEDING)
                ) AS placed WHERE bytes <= 200000);
        END $$;

        -- Conditions, one a line: `*` and words of which the last may go on, or a mark of text_vector and words. All must hold;
        -- one without any word never does: no vector has a word `-`.
        CREATE FUNCTION text_query(conditions text) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
        DECLARE
            line text;
            phrase text;
            wanted tsquery;
        BEGIN
            FOREACH line IN ARRAY string_to_array(conditions, chr(10)) LOOP
                SELECT string_agg('''' || CASE left(line, 1) WHEN '*' THEN '' ELSE left(line, 1) END || left(word, 500) || '''',
                        ' <-> ' ORDER BY n) || CASE left(line, 1) WHEN '*' THEN ':*' ELSE '' END
                    INTO phrase
                    FROM unnest(string_to_array(folded_words(left(substr(line, 2), 10000)), ' ')) WITH ORDINALITY AS w (word, n)
                    WHERE word <> '' AND n <= 100;
                phrase := coalesce(phrase, '''-''');
                wanted := CASE WHEN wanted IS NULL THEN phrase::tsquery ELSE wanted && phrase::tsquery END;
            END LOOP;
            RETURN wanted;
        END $$;

        -- Days since 1970 of a local time; NULL for what SQLite's strftime() refuses. A 30th of February is the 1st or 2nd of March.
        CREATE FUNCTION day_of(captured text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
        DECLARE
            year bigint;
            month bigint;
            day bigint;
        BEGIN
            IF captured COLLATE "C" !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN RETURN NULL; END IF;
            year := left(captured, 4);
            month := substr(captured, 6, 2);
            day := substr(captured, 9, 2);
            IF month NOT BETWEEN 1 AND 12 OR day NOT BETWEEN 1 AND 31 THEN RETURN NULL; END IF;
            RETURN make_date(2000 + (year % 400)::integer, month::integer, 1) - date '1970-01-01' + day - 1
                + (year - 2000 - year % 400) / 400 * 146097;
        END $$;
        """

    // MARK: - Tables

    private static let key = EngineWords.postgresql.key

    /// What can be longer than a row of a B-tree, 2,704 bytes, is in it by its hash where it is unique, and else in a hash index.
    private static let tables = """
        CREATE TABLE photo (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            filed_at bigint NOT NULL,
            source_kept bigint NOT NULL CHECK (source_kept IN (0, 1)),
            superseded_at bigint,
            superseded_by bigint REFERENCES photo (id) DEFERRABLE,
            \(photoColumns),
            undone_by bigint,
            set_id bigint,
            \(setColumns),
            origin text COLLATE "C"
        );
        CREATE UNIQUE INDEX photo_content ON photo (sha256) WHERE superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar';
        CREATE INDEX photo_sha256 ON photo (sha256);
        CREATE UNIQUE INDEX photo_library_path ON photo (\(key("library")), \(key("library_path"))) WHERE superseded_at IS NULL;
        CREATE INDEX photo_captured ON photo (captured);
        CREATE INDEX photo_set ON photo (set_id) WHERE set_id IS NOT NULL;
        -- The same condition as above: else both indexes are read, the other one whole, until there are statistics.
        CREATE INDEX photo_set_key ON photo USING hash (set_key) WHERE superseded_at IS NULL;
        CREATE INDEX photo_short_key ON photo USING hash (short_key) WHERE superseded_at IS NULL;
        CREATE INDEX photo_content_id ON photo USING hash (content_id) WHERE superseded_at IS NULL;

        CREATE TABLE intent (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            token text COLLATE "C" NOT NULL UNIQUE,
            since bigint NOT NULL,
            step text COLLATE "C" NOT NULL CHECK (step IN ('begun', 'recorded')),
            temporary bytea NOT NULL,
            photo_id bigint REFERENCES photo (id) DEFERRABLE,
            \(photoColumns),
            set_token text COLLATE "C",
            joins bigint,
            number_after bigint,
            \(setColumns),
            origin text COLLATE "C"
        );
        CREATE INDEX intent_sha256 ON intent (sha256);

        CREATE TABLE outcome (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            at bigint NOT NULL,
            inbox text COLLATE "C" NOT NULL,
            path bytea NOT NULL,
            outcome text COLLATE "C" NOT NULL,
            reason text COLLATE "C" NOT NULL,
            sha256 bytea,
            photo_id bigint REFERENCES photo (id) DEFERRABLE,
            destination bytea
        );
        CREATE INDEX outcome_at ON outcome (at);
        CREATE INDEX outcome_path ON outcome USING hash (path);
        CREATE INDEX outcome_photo ON outcome (photo_id);

        CREATE TABLE kept_source (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            inbox text COLLATE "C" NOT NULL,
            path bytea NOT NULL,
            since bigint NOT NULL,
            why text COLLATE "C" NOT NULL,
            outcome_id bigint REFERENCES outcome (id) DEFERRABLE,
            sha256 bytea,
            inode bigint NOT NULL,
            size bigint NOT NULL,
            modified bigint NOT NULL,
            modified_ns bigint NOT NULL,
            changed bigint NOT NULL,
            changed_ns bigint NOT NULL
        );
        CREATE UNIQUE INDEX kept_source_path ON kept_source (inbox, \(key("path")));
        CREATE INDEX kept_source_identity ON kept_source (inbox, inode, size, modified, modified_ns);

        CREATE TABLE request (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            at bigint NOT NULL,
            ended_at bigint,
            step text COLLATE "C" NOT NULL CHECK (step IN ('begun', 'done', 'undone', 'expired')),
            what text COLLATE "C" NOT NULL,
            "user" bigint NOT NULL,
            user_name text COLLATE "C",
            inbox text COLLATE "C",
            path bytea,
            outcome_id bigint REFERENCES outcome (id) DEFERRABLE,
            photo_id bigint REFERENCES photo (id) DEFERRABLE,
            as_is bigint NOT NULL CHECK (as_is IN (0, 1)),
            note text COLLATE "C",
            token text COLLATE "C" UNIQUE,
            source_root bytea,
            source_path bytea,
            destination_root bytea,
            destination_path bytea,
            sha256 bytea,
            inode bigint,
            size bigint,
            modified bigint,
            modified_ns bigint,
            changed bigint,
            changed_ns bigint,
            trash_from bigint
        );
        CREATE INDEX request_outcome ON request (outcome_id);
        CREATE INDEX request_photo ON request (photo_id);
        CREATE INDEX request_step ON request (step, what) WHERE step <> 'expired';
        CREATE INDEX request_as_is ON request (inbox, size) WHERE as_is = 1;
        ALTER TABLE photo ADD FOREIGN KEY (undone_by) REFERENCES request (id) DEFERRABLE;

        CREATE TABLE move (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            token text COLLATE "C" NOT NULL UNIQUE,
            since bigint NOT NULL,
            inbox text COLLATE "C" NOT NULL,
            path bytea NOT NULL,
            root bytea NOT NULL,
            destination bytea NOT NULL,
            outcome text COLLATE "C" NOT NULL,
            reason text COLLATE "C" NOT NULL,
            sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
            photo_id bigint REFERENCES photo (id) DEFERRABLE,
            inode bigint NOT NULL,
            size bigint NOT NULL,
            modified bigint NOT NULL,
            modified_ns bigint NOT NULL,
            changed bigint NOT NULL,
            changed_ns bigint NOT NULL
        );

        CREATE TABLE pending_task (name text COLLATE "C" PRIMARY KEY, since bigint NOT NULL);
        CREATE TABLE library (
            path bytea NOT NULL,
            file_system_type bigint NOT NULL,
            file_system bigint NOT NULL,
            inode bigint NOT NULL,
            since bigint NOT NULL,
            accepted_after bigint NOT NULL DEFAULT 0
        );
        CREATE UNIQUE INDEX library_path ON library (\(key("path")));
        CREATE TABLE trash_clock (
            id bigint PRIMARY KEY CHECK (id = 1),
            counted bigint NOT NULL,
            boot text COLLATE "C" NOT NULL,
            boottime bigint NOT NULL,
            wall bigint NOT NULL
        );
        CREATE TABLE hook (name text COLLATE "C" PRIMARY KEY, told bigint NOT NULL, since bigint NOT NULL);
        CREATE TABLE damage (
            photo_id bigint PRIMARY KEY REFERENCES photo (id) ON DELETE CASCADE DEFERRABLE,
            since bigint NOT NULL,
            reason text COLLATE "C" NOT NULL
        );
        CREATE TABLE verification (library bytea NOT NULL, cursor bigint, at bigint NOT NULL, whole_at bigint);
        CREATE UNIQUE INDEX verification_library ON verification (\(key("library")));
        CREATE TABLE rendition (
            photo_id bigint NOT NULL REFERENCES photo (id) ON DELETE CASCADE DEFERRABLE,
            kind text COLLATE "C" NOT NULL,
            at bigint NOT NULL,
            reason text COLLATE "C",
            likeness bigint,
            PRIMARY KEY (photo_id, kind)
        );
        CREATE TABLE description (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            sha256 bytea NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
            title text COLLATE "C",
            keywords text COLLATE "C",
            rating bigint CHECK (rating BETWEEN 0 AND 5),
            taken text COLLATE "C",
            place text COLLATE "C"
        );
        CREATE TABLE description_import (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            inode bigint NOT NULL,
            size bigint NOT NULL,
            modified bigint NOT NULL,
            modified_ns bigint NOT NULL,
            path bytea NOT NULL,
            "offset" bigint NOT NULL,
            line bigint NOT NULL,
            rows bigint NOT NULL,
            rejected bigint NOT NULL,
            rejects_length bigint NOT NULL
        );
        CREATE UNIQUE INDEX description_import_path ON description_import (\(key("path")));
        CREATE TABLE metadata (
            photo_id bigint PRIMARY KEY REFERENCES photo (id) ON DELETE CASCADE DEFERRABLE,
            title text COLLATE "C",
            caption text COLLATE "C",
            keywords text COLLATE "C",
            people text COLLATE "C",
            place text COLLATE "C",
            lens text COLLATE "C",
            rating bigint,
            latitude double precision,
            longitude double precision,
            whole text COLLATE "C"
        );
        CREATE INDEX metadata_position ON metadata (latitude, longitude) WHERE latitude IS NOT NULL;
        CREATE VIEW photo_position (id, south, north, west, east) AS
            SELECT photo_id, latitude, latitude, longitude, longitude FROM metadata WHERE latitude IS NOT NULL;
        """

    private static let photoColumns = """
        sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
            size bigint NOT NULL,
            library bytea NOT NULL,
            library_path bytea NOT NULL,
            inbox text COLLATE "C" NOT NULL,
            source_path bytea NOT NULL,
            original_name bytea NOT NULL,
            format text COLLATE "C" NOT NULL,
            captured text COLLATE "C",
            captured_offset bigint,
            captured_provenance text COLLATE "C",
            width bigint,
            height bigint,
            orientation bigint,
            camera text COLLATE "C",
            proof text COLLATE "C" NOT NULL,
            source_inode bigint NOT NULL,
            source_modified bigint NOT NULL,
            source_modified_ns bigint NOT NULL,
            source_changed bigint NOT NULL,
            source_changed_ns bigint NOT NULL
        """

    private static let setColumns = """
        role text COLLATE "C",
            content_id text COLLATE "C",
            set_key bytea,
            short_key bytea
        """

    // MARK: - What triggers keep

    /// Plans are kept by a session. Without this, those that are made while the tables are empty read them whole ever after: each
    /// filing would take longer than the one before, until statistics are taken.
    private static let byIndex = "SET enable_seqscan = off"

    private static let texts = """
        CREATE VIEW photo_words (id, name, title, caption, keywords, people, place, gear) AS
            SELECT photo.id, text_of(photo.original_name), coalesce(description.title, metadata.title), metadata.caption,
                coalesce(description.keywords, metadata.keywords), metadata.people,
                coalesce(description.place, metadata.place),
                coalesce(photo.camera, '') || chr(10) || coalesce(metadata.lens, '')
            FROM metadata JOIN photo ON photo.id = metadata.photo_id
            LEFT JOIN description ON description.sha256 = photo.sha256;
        CREATE TABLE photo_text (id bigint PRIMARY KEY, words tsvector NOT NULL);
        CREATE INDEX photo_text_words ON photo_text USING gin (words);

        CREATE FUNCTION text_anew(photos bigint[]) RETURNS void LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            INSERT INTO photo_text (id, words)
                SELECT id, text_vector(title, keywords, people, place, name, gear, caption) FROM photo_words
                WHERE id = ANY (photos) ORDER BY id
                ON CONFLICT (id) DO UPDATE SET words = excluded.words;
        END $$;
        CREATE FUNCTION metadata_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM text_anew(ARRAY[new.photo_id]);
            RETURN NULL;
        END $$;
        CREATE TRIGGER metadata_changed AFTER INSERT OR UPDATE ON metadata
            FOR EACH ROW EXECUTE FUNCTION metadata_changed();
        CREATE FUNCTION metadata_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM photo_text WHERE id = old.photo_id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER metadata_deleted AFTER DELETE ON metadata FOR EACH ROW EXECUTE FUNCTION metadata_deleted();

        CREATE FUNCTION described_anew(content bytea) RETURNS void LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            PERFORM text_anew(ARRAY(SELECT id FROM photo WHERE sha256 = content));
            INSERT INTO metadata (photo_id)
                SELECT id FROM photo WHERE sha256 = content AND superseded_at IS NULL ORDER BY id
                ON CONFLICT (photo_id) DO NOTHING;
        END $$;
        CREATE FUNCTION description_changed() RETURNS trigger LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            PERFORM described_anew(new.sha256);
            PERFORM sidecar_anew(ARRAY(SELECT id FROM photo WHERE sha256 = new.sha256 AND superseded_at IS NULL));
            RETURN NULL;
        END $$;
        CREATE TRIGGER description_changed AFTER INSERT OR UPDATE ON description
            FOR EACH ROW EXECUTE FUNCTION description_changed();
        CREATE FUNCTION description_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM described_anew(old.sha256);
            RETURN NULL;
        END $$;
        CREATE TRIGGER description_deleted AFTER DELETE ON description
            FOR EACH ROW EXECUTE FUNCTION description_deleted();
        """

    private static let due = """
        CREATE TABLE metadata_due (photo_id bigint PRIMARY KEY REFERENCES photo (id) DEFERRABLE, turn bigint NOT NULL);
        CREATE TABLE metadata_reader (
            id bigint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL, place_names text COLLATE "C"
        );
        INSERT INTO metadata_reader VALUES (1, 1);
        CREATE FUNCTION photo_inserted() RETURNS trigger LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            INSERT INTO metadata_due VALUES (new.id, 0);
            IF EXISTS (SELECT FROM description WHERE sha256 = new.sha256) THEN
                PERFORM sidecar_anew(ARRAY[new.id]);
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER photo_inserted AFTER INSERT ON photo FOR EACH ROW EXECUTE FUNCTION photo_inserted();
        CREATE FUNCTION photo_updated() RETURNS trigger LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            INSERT INTO metadata_due SELECT id, 0 FROM photo WHERE id = new.id OR set_id = new.set_id ORDER BY id
                ON CONFLICT (photo_id) DO UPDATE SET turn = metadata_due.turn + 1;
            RETURN NULL;
        END $$;
        CREATE TRIGGER photo_updated AFTER UPDATE OF superseded_at, library, set_id ON photo
            FOR EACH ROW EXECUTE FUNCTION photo_updated();
        CREATE FUNCTION damage_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO metadata_due SELECT id, 0 FROM photo WHERE id = old.photo_id ON CONFLICT (photo_id) DO NOTHING;
            RETURN NULL;
        END $$;
        CREATE TRIGGER damage_deleted AFTER DELETE ON damage FOR EACH ROW EXECUTE FUNCTION damage_deleted();

        CREATE TABLE sidecar (
            photo_id bigint PRIMARY KEY REFERENCES photo (id) DEFERRABLE, turn bigint NOT NULL, is_due bigint NOT NULL,
            is_later bigint NOT NULL DEFAULT 0, reason text COLLATE "C", said bytea
        );
        CREATE INDEX sidecar_due ON sidecar (photo_id) WHERE is_due = 1;
        CREATE INDEX sidecar_later ON sidecar (photo_id) WHERE is_later = 1;
        CREATE FUNCTION sidecar_anew(photos bigint[]) RETURNS void LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            INSERT INTO sidecar (photo_id, turn, is_due)
                SELECT id, 0, 1 FROM photo WHERE id = ANY (photos) AND role IS DISTINCT FROM 'sidecar' ORDER BY id
                ON CONFLICT (photo_id) DO UPDATE SET turn = sidecar.turn + 1, is_due = 1, is_later = 0, reason = NULL;
        END $$;
        CREATE FUNCTION sidecar_photo_updated() RETURNS trigger LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            IF EXISTS (SELECT FROM description WHERE sha256 = new.sha256) THEN
                PERFORM sidecar_anew(ARRAY[new.id]);
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER sidecar_photo_updated AFTER UPDATE OF superseded_at, library, library_path ON photo
            FOR EACH ROW EXECUTE FUNCTION sidecar_photo_updated();
        """

    /// States of errors that are not PostgreSQL's.
    static let anotherLife = "PI001"
    static let wentBack = "PI002"
    static let inboxOfAnother = "PI003"

    /// Daemons: the one that is not forgotten writes, and by `epoch` the newest connection of its newest life.
    private static let hosts = """
        CREATE TABLE host (
            id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            key text COLLATE "C" NOT NULL UNIQUE,
            name text COLLATE "C" NOT NULL,
            life text COLLATE "C" NOT NULL,
            epoch bigint NOT NULL,
            writes bigint NOT NULL DEFAULT 0,
            seen timestamptz NOT NULL,
            forgotten_at timestamptz
        ) WITH (fillfactor = 50);
        CREATE UNIQUE INDEX host_alone ON host ((true)) WHERE forgotten_at IS NULL;
        -- The row stays locked until the transaction ends, so that another epoch waits for it.
        -- Who has written `written` times, and finds another number, meets an earlier state of the database.
        CREATE FUNCTION require_life(host bigint, life bigint, written bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            UPDATE host SET seen = clock_timestamp(), writes = writes + 1 WHERE id = $1 AND epoch = $2 AND writes = $3;
            IF FOUND THEN
                RETURN true;
            ELSIF EXISTS (SELECT FROM host WHERE id = $1 AND epoch = $2) THEN
                RAISE EXCEPTION 'the database went back to an earlier state' USING ERRCODE = '\(wentBack)';
            ELSE
                RAISE EXCEPTION 'another photoinboxd writes in this catalogue' USING ERRCODE = '\(anotherLife)';
            END IF;
        END $$;
        """

    /// Any number of daemons, each with inboxes of names that no other has. What a row belongs to is found by its inbox; tables
    /// without one have the daemon's number, 0 for what was copied and nobody's yet.
    private static let severalHosts = """
        DROP INDEX host_alone;
        UPDATE host SET name = name || '-' || left(key, 8)
            WHERE EXISTS (SELECT FROM host AS other WHERE other.name = host.name AND other.id < host.id);
        -- A daemon of the first version writes no more.
        UPDATE host SET epoch = epoch + 1;
        CREATE UNIQUE INDEX host_name ON host (name);
        ALTER TABLE host ADD COLUMN said text COLLATE "C";
        CREATE TABLE inbox (name text COLLATE "C" PRIMARY KEY, host bigint NOT NULL REFERENCES host (id));
        CREATE INDEX inbox_host ON inbox (host);
        INSERT INTO inbox SELECT DISTINCT outcome.inbox, host.id FROM outcome, host
            WHERE host.forgotten_at IS NULL AND left(outcome.inbox, 1) <> '(';

        -- The daemon whose transaction it is; 0 for a command's.
        CREATE FUNCTION own_host() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN
            coalesce(nullif(current_setting('photoinbox.host', true), ''), '0')::bigint;
        CREATE OR REPLACE FUNCTION require_life(host bigint, life bigint, written bigint)
        RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            UPDATE host SET seen = clock_timestamp(), writes = writes + 1 WHERE id = $1 AND epoch = $2 AND writes = $3;
            IF FOUND THEN
                PERFORM set_config('photoinbox.host', $1::text, true);
                RETURN true;
            ELSIF EXISTS (SELECT FROM host WHERE id = $1 AND epoch = $2) THEN
                RAISE EXCEPTION 'the database went back to an earlier state' USING ERRCODE = '\(wentBack)';
            ELSE
                RAISE EXCEPTION 'another photoinboxd writes in this catalogue' USING ERRCODE = '\(anotherLife)';
            END IF;
        END $$;
        CREATE FUNCTION is_live(seen timestamptz, forgotten_at timestamptz) RETURNS boolean LANGUAGE sql STABLE RETURN
            forgotten_at IS NULL AND seen > clock_timestamp() - interval '\(CatalogueFile.lease) seconds';
        CREATE FUNCTION is_away(inbox_name text) RETURNS boolean LANGUAGE sql STABLE RETURN
            coalesce((SELECT host.id <> own_host() AND NOT is_live(seen, forgotten_at)
                FROM inbox JOIN host ON host.id = inbox.host WHERE inbox.name = inbox_name), false);
        -- Of inboxes whose daemon is away one takes care that is not.
        CREATE FUNCTION is_cared_for(inbox_name text) RETURNS boolean LANGUAGE sql STABLE RETURN
            own_host() = coalesce(
                (SELECT host.id FROM inbox JOIN host ON host.id = inbox.host
                    WHERE inbox.name = inbox_name AND (is_live(seen, forgotten_at) OR host.id = own_host())),
                (SELECT min(id) FROM host WHERE is_live(seen, forgotten_at)), own_host());

        -- An inbox is that of the daemon that first records something of it, until that is forgotten.
        CREATE FUNCTION claim_inbox(wanted text) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            owner record;
        BEGIN
            IF own_host() = 0 OR wanted IS NULL OR left(wanted, 1) = '(' THEN RETURN true; END IF;
            FOR attempt IN 1..3 LOOP
                SELECT host.* INTO owner FROM inbox JOIN host ON host.id = inbox.host WHERE inbox.name = wanted;
                IF owner.id = own_host() THEN RETURN true; END IF;
                IF owner.id IS NULL THEN
                    INSERT INTO inbox (name, host) VALUES (wanted, own_host()) ON CONFLICT (name) DO NOTHING;
                ELSIF owner.forgotten_at IS NOT NULL THEN
                    UPDATE inbox SET host = own_host() WHERE name = wanted AND host = owner.id;
                END IF;
            END LOOP;
            RAISE EXCEPTION 'the inbox % is that of photoinboxd on %: configure another name for it here', wanted, owner.name
                USING ERRCODE = '\(inboxOfAnother)';
        END $$;
        CREATE FUNCTION claim_inbox() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM claim_inbox(new.inbox);
            RETURN new;
        END $$;
        CREATE TRIGGER claim_inbox BEFORE INSERT ON intent FOR EACH ROW EXECUTE FUNCTION claim_inbox();
        CREATE TRIGGER claim_inbox BEFORE INSERT ON move FOR EACH ROW EXECUTE FUNCTION claim_inbox();
        CREATE TRIGGER claim_inbox BEFORE INSERT ON outcome FOR EACH ROW EXECUTE FUNCTION claim_inbox();
        CREATE TRIGGER claim_inbox BEFORE INSERT ON kept_source FOR EACH ROW EXECUTE FUNCTION claim_inbox();
        CREATE TRIGGER claim_inbox BEFORE INSERT ON request FOR EACH ROW EXECUTE FUNCTION claim_inbox();

        ALTER TABLE intent DROP CONSTRAINT intent_step_check;
        ALTER TABLE intent ADD CONSTRAINT intent_step_check CHECK (step IN ('begun', 'lost', 'recorded'));
        CREATE UNIQUE INDEX intent_content ON intent (sha256) WHERE step = 'begun' AND role IS DISTINCT FROM 'sidecar';
        CREATE INDEX intent_inbox ON intent (inbox);

        ALTER TABLE library ADD COLUMN host bigint NOT NULL DEFAULT own_host();
        DROP INDEX library_path;
        CREATE UNIQUE INDEX library_path ON library (host, \(key("path")));
        ALTER TABLE hook ADD COLUMN host bigint NOT NULL DEFAULT own_host();
        ALTER TABLE hook DROP CONSTRAINT hook_pkey, ADD PRIMARY KEY (host, name);
        ALTER TABLE trash_clock DROP CONSTRAINT trash_clock_id_check;
        UPDATE trash_clock SET id = 0;
        """

    /// PostgreSQL expects ten photos in the arrays of these, which mostly have one, and so made a plan for each call: with a million
    /// photos that was half of what the server did for a filing. The plan that is kept must do for any number of rows. What says
    /// whose an inbox is had no plan that is kept, since `is_live` has the clock, and was STABLE (decision 0085).
    private static let keptPlans =
        ["text_anew", "tile_anew", "sidecar_anew"].map { name in
            """
            ALTER FUNCTION \(name)(bigint[]) SET plan_cache_mode = force_generic_plan;
            ALTER FUNCTION \(name)(bigint[]) SET enable_hashjoin = off;
            ALTER FUNCTION \(name)(bigint[]) SET enable_mergejoin = off;

            """
        }.joined() + """
            ALTER FUNCTION is_live(timestamptz, timestamptz) VOLATILE;
            CREATE OR REPLACE FUNCTION is_away(inbox_name text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN
                RETURN coalesce((SELECT host.id <> own_host() AND NOT is_live(seen, forgotten_at)
                    FROM inbox JOIN host ON host.id = inbox.host WHERE inbox.name = inbox_name), false);
            END $$;
            CREATE OR REPLACE FUNCTION is_cared_for(inbox_name text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN
                RETURN own_host() = coalesce(
                    (SELECT host.id FROM inbox JOIN host ON host.id = inbox.host
                        WHERE inbox.name = inbox_name AND (is_live(seen, forgotten_at) OR host.id = own_host())),
                    (SELECT min(id) FROM host WHERE is_live(seen, forgotten_at)), own_host());
            END $$;
            """

    private static let countsByHost = """
        -- Each daemon counts for itself: else all that file photos of one day would wait for each other's commit.
        ALTER TABLE tile_day RENAME TO tile_count;
        ALTER TABLE tile_count ADD COLUMN host bigint NOT NULL DEFAULT own_host(), DROP CONSTRAINT tile_day_pkey,
            ADD PRIMARY KEY (day, host);
        CREATE VIEW tile_day (day, photos) AS
            SELECT day, CAST(sum(photos) AS bigint) FROM tile_count GROUP BY day HAVING sum(photos) <> 0;
        CREATE OR REPLACE FUNCTION tile_inserted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO tile_count (day, photos) VALUES (new.day, 1)
                ON CONFLICT (day, host) DO UPDATE SET photos = tile_count.photos + 1;
            RETURN NULL;
        END $$;
        CREATE OR REPLACE FUNCTION tile_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO tile_count (day, photos) VALUES (old.day, -1)
                ON CONFLICT (day, host) DO UPDATE SET photos = tile_count.photos - 1;
            DELETE FROM tile_count WHERE day = old.day AND host = own_host() AND photos = 0;
            RETURN NULL;
        END $$;
        """

    private static let tiles = """
        CREATE TABLE tile (
            day bigint NOT NULL,
            second bigint NOT NULL,
            photo_id bigint NOT NULL,
            kind bigint NOT NULL,
            mark bytea NOT NULL,
            PRIMARY KEY (day, second, photo_id)
        );
        CREATE UNIQUE INDEX tile_photo ON tile (photo_id);
        CREATE TABLE tile_day (day bigint PRIMARY KEY, photos bigint NOT NULL);
        CREATE FUNCTION tile_inserted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO tile_day VALUES (new.day, 1) ON CONFLICT (day) DO UPDATE SET photos = tile_day.photos + 1;
            RETURN NULL;
        END $$;
        CREATE TRIGGER tile_inserted AFTER INSERT ON tile FOR EACH ROW EXECUTE FUNCTION tile_inserted();
        CREATE FUNCTION tile_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            UPDATE tile_day SET photos = photos - 1 WHERE day = old.day;
            DELETE FROM tile_day WHERE day = old.day AND photos = 0;
            RETURN NULL;
        END $$;
        CREATE TRIGGER tile_deleted AFTER DELETE ON tile FOR EACH ROW EXECUTE FUNCTION tile_deleted();

        CREATE FUNCTION tile_rank(role text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
            CASE role WHEN 'raw' THEN 1 WHEN 'film' THEN 2 ELSE 0 END;
        CREATE FUNCTION tile_second(captured text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
            CASE WHEN day_of(captured) IS NOT NULL
                    AND captured COLLATE "C" ~ '^.{10}T[0-9]{2}:[0-9]{2}:[0-9]{2}'
                THEN least(86399, substr(captured, 12, 2)::bigint * 3600 + substr(captured, 15, 2)::bigint * 60
                    + substr(captured, 18, 2)::bigint)
                ELSE 0 END;
        -- `photos` has all of each set. They are read first: with the conditions of `shown`, a whole partial index may be read.
        CREATE FUNCTION tile_anew(photos bigint[]) RETURNS void LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            DELETE FROM tile WHERE photo_id = ANY (photos);
            INSERT INTO tile (day, second, photo_id, kind, mark)
                WITH member AS MATERIALIZED (
                    SELECT id, set_id, role, captured, superseded_at, substr(sha256, 1, 4) AS mark
                    FROM photo WHERE id = ANY (photos)
                ), shown AS (
                    SELECT * FROM member WHERE superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'
                )
                SELECT coalesce(day_of(captured), \(Schema.noDay)), tile_second(captured), id,
                    CASE tile_rank(role)
                        WHEN 0 THEN
                            CASE WHEN EXISTS (SELECT FROM shown WHERE set_id = face.set_id AND role = 'raw') THEN 1 ELSE 0 END
                            + CASE WHEN EXISTS (SELECT FROM shown WHERE set_id = face.set_id AND role = 'film') THEN 2 ELSE 0 END
                        WHEN 1 THEN 8 ELSE 4 END,
                    mark
                FROM shown AS face WHERE NOT EXISTS (
                    SELECT FROM shown WHERE set_id = face.set_id AND (tile_rank(role), id) < (tile_rank(face.role), face.id));
        END $$;
        CREATE FUNCTION tile_photo_changed() RETURNS trigger LANGUAGE plpgsql \(byIndex) AS $$ BEGIN
            PERFORM tile_anew(ARRAY(
                SELECT coalesce(new.id, old.id) UNION SELECT id FROM photo WHERE set_id IN (old.set_id, new.set_id)));
            RETURN NULL;
        END $$;
        CREATE TRIGGER tile_photo_changed AFTER INSERT OR DELETE OR UPDATE OF superseded_at, set_id, role, captured, sha256
            ON photo FOR EACH ROW EXECUTE FUNCTION tile_photo_changed();
        """
}
