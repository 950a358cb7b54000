import GRDB

/// The tables as a list of named migrations. Migrations are only added; a shipped one is never edited.
///
/// Paths and names are BLOBs, since they are bytes in no particular encoding. Times are nanoseconds since 1970 UTC,
/// except times of files, which have any value and are stored as the kernel reports them, in two columns.
enum Schema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 photos, intents, outcomes, kept sources") { db in
            try db.execute(sql: first)
        }
        migrator.registerMigration("2 sets") { db in
            try db.execute(sql: sets)
        }
        migrator.registerMigration("3 operations") { db in
            try db.execute(sql: requests)
        }
        migrator.registerMigration("4 tasks to be finished") { db in
            try db.execute(sql: tasks)
        }
        migrator.registerMigration("5 libraries") { db in
            try db.execute(sql: libraries)
        }
        migrator.registerMigration("6 moves under way") { db in try db.execute(sql: moves) }
        migrator.registerMigration("7 hooks") { db in try db.execute(sql: hooks) }
        migrator.registerMigration("8 renditions") { db in try db.execute(sql: renditions) }
        migrator.registerMigration("9 descriptions") { db in try db.execute(sql: descriptions) }
        migrator.registerMigration("10 origins") { db in try db.execute(sql: origins) }
        migrator.registerMigration("11 accepted libraries") { db in try db.execute(sql: acceptance) }
        migrator.registerMigration("12 damage") { db in try db.execute(sql: damage) }
        migrator.registerMigration("13 time in the trash") { db in try db.execute(sql: trashTime) }
        migrator.registerMigration("14 metadata") { db in try db.execute(sql: metadata) }
        migrator.registerMigration("15 place names") { db in try db.execute(sql: placeNames) }
        migrator.registerMigration("16 sidecars") { db in try db.execute(sql: sidecars) }
        // Without references of its own, and so without a check of those of all rows.
        migrator.registerMigration("17 tiles", foreignKeyChecks: .immediate) { db in try db.execute(sql: tiles) }
        return migrator
    }()

    /// What the timeline shows: one row for each photo or set, exact after every statement.
    private static let tiles = """
        CREATE TABLE tile (
            -- Days since 1970 of the local time as recorded, \(noDay) without one, and the second of that day.
            day INTEGER NOT NULL,
            second INTEGER NOT NULL,
            -- The photo that stands for its set.
            photo_id INTEGER NOT NULL,
            -- 1: there is a raw file beside the picture, 2: there is a film. 4: it is a film, 8: it is a raw file.
            kind INTEGER NOT NULL,
            -- How its SHA-256 begins, since another catalogue may give its number to another photo.
            mark BLOB NOT NULL,
            PRIMARY KEY (day, second, photo_id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE tile_day (day INTEGER PRIMARY KEY, photos INTEGER NOT NULL) STRICT;
        INSERT INTO tile (day, second, photo_id, kind, mark) \(tiles(of: "true")) ORDER BY 1, 2, 3;
        CREATE UNIQUE INDEX tile_photo ON tile (photo_id);
        INSERT INTO tile_day SELECT day, count(*) FROM tile GROUP BY day;
        CREATE TRIGGER tile_inserted AFTER INSERT ON tile BEGIN
            INSERT INTO tile_day SELECT new.day, 0 WHERE NOT EXISTS (SELECT 1 FROM tile_day WHERE day = new.day);
            UPDATE tile_day SET photos = photos + 1 WHERE day = new.day;
        END;
        CREATE TRIGGER tile_deleted AFTER DELETE ON tile BEGIN
            UPDATE tile_day SET photos = photos - 1 WHERE day = old.day;
            DELETE FROM tile_day WHERE day = old.day AND photos = 0;
        END;
        CREATE TRIGGER tile_photo_inserted AFTER INSERT ON photo BEGIN
            \(tilesAnew("SELECT new.id UNION ALL SELECT id FROM photo WHERE set_id = new.set_id"))
        END;
        CREATE TRIGGER tile_photo_updated AFTER UPDATE OF superseded_at, set_id, role, captured, sha256 ON photo BEGIN
            \(tilesAnew("SELECT new.id UNION ALL SELECT id FROM photo WHERE set_id IN (old.set_id, new.set_id)"))
        END;
        CREATE TRIGGER tile_photo_deleted AFTER DELETE ON photo BEGIN
            \(tilesAnew("SELECT old.id UNION ALL SELECT id FROM photo WHERE set_id = old.set_id"))
        END;
        """

    /// The day of photos without a date.
    static let noDay = Int32.max

    private static func tilesAnew(_ photos: String) -> String {
        """
        DELETE FROM tile WHERE photo_id IN (\(photos));
        INSERT INTO tile (day, second, photo_id, kind, mark) \(tiles(of: "face.id IN (\(photos))"));
        """
    }

    /// The tiles of those photos for which `condition` holds and which stand for their sets: pictures before raw files before
    /// films, and the first filed.
    private static func tiles(of condition: String) -> String {
        func rank(_ photo: String) -> String { "CASE \(photo).role WHEN 'raw' THEN 1 WHEN 'film' THEN 2 ELSE 0 END" }
        func isShown(_ photo: String) -> String {
            "\(photo).superseded_at IS NULL AND \(photo).role IS NOT 'sidecar'"
        }
        let beside = "SELECT 1 FROM photo AS other WHERE other.set_id = face.set_id AND \(isShown("other"))"
        let (date, clock) = ("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]", "[0-9][0-9]:[0-9][0-9]:[0-9][0-9]")
        // NULL for a date that is not in the calendar.
        let day =
            "CASE WHEN captured GLOB '\(date)*' THEN strftime('%s', substr(captured, 1, 10)) / 86400 END"
        let second = "substr(captured, 12, 2) * 3600 + substr(captured, 15, 2) * 60 + substr(captured, 18, 2)"
        return """
            SELECT coalesce(\(day), \(noDay)),
                CASE WHEN \(day) IS NOT NULL AND captured GLOB '\(date)T\(clock)*' THEN min(86399, \(second)) ELSE 0 END,
                face.id,
                CASE \(rank("face")) WHEN 0
                    THEN EXISTS (\(beside) AND other.role = 'raw') + 2 * EXISTS (\(beside) AND other.role = 'film')
                    WHEN 1 THEN 8 ELSE 4 END,
                substr(face.sha256, 1, 4)
            FROM photo AS face WHERE (\(condition)) AND \(isShown("face"))
                AND NOT EXISTS (\(beside) AND (\(rank("other")), other.id) < (\(rank("face")), face.id))
            """
    }

    /// What is written beside photos that have descriptions; kept whether or not the daemon writes it.
    private static let sidecars = """
        -- Turns as in metadata_due; `reason` says why it was left as it is, `is_later` that it becomes due by itself. `said`:
        -- one SHA-256 after the other, of statements that this catalogue has written or was about to write.
        CREATE TABLE sidecar (
            photo_id INTEGER PRIMARY KEY REFERENCES photo (id), turn INTEGER NOT NULL, is_due INTEGER NOT NULL,
            is_later INTEGER NOT NULL DEFAULT false, reason TEXT, said BLOB
        ) STRICT;
        INSERT INTO sidecar (photo_id, turn, is_due)
            SELECT photo.id, 0, true FROM description JOIN photo ON photo.sha256 = description.sha256
            WHERE superseded_at IS NULL AND role IS NOT 'sidecar';
        CREATE INDEX sidecar_due ON sidecar (photo_id) WHERE is_due;
        CREATE INDEX sidecar_later ON sidecar (photo_id) WHERE is_later;
        CREATE TRIGGER sidecar_described AFTER INSERT ON description BEGIN
            \(sidecarsDue("sha256 = new.sha256 AND superseded_at IS NULL"))
        END;
        CREATE TRIGGER sidecar_redescribed AFTER UPDATE ON description BEGIN
            \(sidecarsDue("sha256 = new.sha256 AND superseded_at IS NULL"))
        END;
        CREATE TRIGGER sidecar_photo_inserted AFTER INSERT ON photo
        WHEN EXISTS (SELECT 1 FROM description WHERE sha256 = new.sha256) BEGIN
            \(sidecarsDue("id = new.id"))
        END;
        CREATE TRIGGER sidecar_photo_updated AFTER UPDATE OF superseded_at, library, library_path ON photo
        WHEN EXISTS (SELECT 1 FROM description WHERE sha256 = new.sha256) BEGIN
            \(sidecarsDue("id = new.id"))
        END;
        """

    private static func sidecarsDue(_ photos: String) -> String {
        let due = "SELECT id FROM photo WHERE \(photos) AND role IS NOT 'sidecar'"
        return """
            UPDATE sidecar SET turn = turn + 1, is_due = true, is_later = false, reason = NULL WHERE photo_id IN (\(due));
            INSERT INTO sidecar (photo_id, turn, is_due)
                SELECT id, 0, true FROM (\(due)) WHERE id NOT IN (SELECT photo_id FROM sidecar);
            """
    }

    /// Files' time in the trash, counted because the wall clock jumps.
    private static let trashTime = """
        -- What was counted so far, and the clocks when it was.
        CREATE TABLE trash_clock (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            counted INTEGER NOT NULL,
            boot TEXT NOT NULL,
            boottime INTEGER NOT NULL,
            wall INTEGER NOT NULL
        ) STRICT;
        -- What had been counted when the file was first seen in the trash.
        ALTER TABLE request ADD COLUMN trash_from INTEGER;
        """

    /// The columns that photos share with intents.
    private static let photoColumns = """
        sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
        size INTEGER NOT NULL,
        library BLOB NOT NULL,
        library_path BLOB NOT NULL,
        inbox TEXT NOT NULL,
        source_path BLOB NOT NULL,
        original_name BLOB NOT NULL,
        format TEXT NOT NULL,
        captured TEXT,
        captured_offset INTEGER,
        captured_provenance TEXT,
        width INTEGER,
        height INTEGER,
        orientation INTEGER,
        camera TEXT,
        proof TEXT NOT NULL,
        source_inode INTEGER NOT NULL,
        source_modified INTEGER NOT NULL,
        source_modified_ns INTEGER NOT NULL,
        source_changed INTEGER NOT NULL,
        source_changed_ns INTEGER NOT NULL
        """

    /// Descriptions of photos by people or other programs, by content, since they may be imported before the photo
    /// arrives.
    private static let descriptions = """
        CREATE TABLE description (
            id INTEGER PRIMARY KEY,
            sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
            title TEXT,
            -- One a line.
            keywords TEXT,
            rating INTEGER CHECK (rating BETWEEN 0 AND 5),
            taken TEXT,
            place TEXT
        ) STRICT;
        CREATE VIRTUAL TABLE description_text USING fts5 (
            title, keywords, place, content = 'description', content_rowid = 'id',
            tokenize = 'unicode61 remove_diacritics 2'
        );
        CREATE TRIGGER description_inserted AFTER INSERT ON description BEGIN
            INSERT INTO description_text (rowid, title, keywords, place)
                VALUES (new.id, new.title, new.keywords, new.place);
        END;
        CREATE TRIGGER description_deleted AFTER DELETE ON description BEGIN
            INSERT INTO description_text (description_text, rowid, title, keywords, place)
                VALUES ('delete', old.id, old.title, old.keywords, old.place);
        END;
        CREATE TRIGGER description_updated AFTER UPDATE ON description BEGIN
            INSERT INTO description_text (description_text, rowid, title, keywords, place)
                VALUES ('delete', old.id, old.title, old.keywords, old.place);
            INSERT INTO description_text (rowid, title, keywords, place)
                VALUES (new.id, new.title, new.keywords, new.place);
        END;
        -- How far a table that somebody brought was taken in, so that it goes on from there.
        CREATE TABLE description_import (
            id INTEGER PRIMARY KEY,
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            path BLOB NOT NULL UNIQUE,
            -- Where the next row begins.
            offset INTEGER NOT NULL,
            line INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            rejected INTEGER NOT NULL,
            rejects_length INTEGER NOT NULL
        ) STRICT;
        """

    /// The metadata of photos and their sidecars, which can be read from the files again at any time, and the texts that
    /// are searched: those of a person's description instead of the file's. A photo has texts once its file was read or
    /// somebody has described it.
    private static let metadata = """
        CREATE TABLE metadata (
            photo_id INTEGER PRIMARY KEY REFERENCES photo (id) ON DELETE CASCADE,
            title TEXT,
            caption TEXT,
            -- One a line, as are people and names of the place.
            keywords TEXT,
            people TEXT,
            place TEXT,
            lens TEXT,
            rating INTEGER,
            latitude REAL,
            longitude REAL,
            -- All of it as JSON, with the source of each property and the contradictions; NULL where there is none.
            whole TEXT
        ) STRICT;
        -- Photos whose metadata is to be read: new ones, restored ones, and those of a set that has changed. What becomes
        -- due again while it is read has another turn, so that it stays.
        CREATE TABLE metadata_due (photo_id INTEGER PRIMARY KEY REFERENCES photo (id), turn INTEGER NOT NULL) STRICT;
        -- The version of the readers that have read the others.
        CREATE TABLE metadata_reader (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
        INSERT INTO metadata_reader VALUES (1, 1);
        INSERT INTO metadata_due SELECT id, 0 FROM photo;
        CREATE TRIGGER photo_inserted AFTER INSERT ON photo BEGIN
            INSERT INTO metadata_due VALUES (new.id, 0);
        END;
        CREATE TRIGGER photo_updated AFTER UPDATE OF superseded_at, library, set_id ON photo BEGIN
            UPDATE metadata_due SET turn = turn + 1
                WHERE photo_id = new.id OR photo_id IN (SELECT id FROM photo WHERE set_id = new.set_id);
            INSERT INTO metadata_due SELECT new.id, 0 WHERE new.id NOT IN (SELECT photo_id FROM metadata_due);
            INSERT INTO metadata_due
                SELECT id, 0 FROM photo WHERE set_id = new.set_id AND id NOT IN (SELECT photo_id FROM metadata_due);
        END;
        CREATE TRIGGER damage_deleted AFTER DELETE ON damage BEGIN
            INSERT INTO metadata_due SELECT old.photo_id, 0
                WHERE old.photo_id IN (SELECT id FROM photo) AND old.photo_id NOT IN (SELECT photo_id FROM metadata_due);
        END;
        CREATE VIEW photo_words (id, name, title, caption, keywords, people, place, gear) AS
            SELECT photo.id, CAST(photo.original_name AS TEXT), coalesce(description.title, metadata.title),
                metadata.caption, coalesce(description.keywords, metadata.keywords), metadata.people,
                coalesce(description.place, metadata.place),
                coalesce(photo.camera, '') || char(10) || coalesce(metadata.lens, '')
            FROM metadata JOIN photo ON photo.id = metadata.photo_id
            LEFT JOIN description ON description.sha256 = photo.sha256;
        -- With contents: without them, a row could be deleted only by repeating them exactly.
        CREATE VIRTUAL TABLE photo_text USING fts5 (
            name, title, caption, keywords, people, place, gear, prefix = '2 3',
            tokenize = 'unicode61 remove_diacritics 2'
        );
        CREATE VIRTUAL TABLE photo_position USING rtree (id, south, north, west, east);

        CREATE TRIGGER metadata_inserted AFTER INSERT ON metadata BEGIN
            INSERT INTO photo_text (rowid, name, title, caption, keywords, people, place, gear)
                SELECT * FROM photo_words WHERE id = new.photo_id;
            INSERT INTO photo_position SELECT new.photo_id, new.latitude, new.latitude, new.longitude, new.longitude
                WHERE new.latitude IS NOT NULL;
        END;
        CREATE TRIGGER metadata_updated AFTER UPDATE ON metadata BEGIN
            DELETE FROM photo_text WHERE rowid = new.photo_id;
            INSERT INTO photo_text (rowid, name, title, caption, keywords, people, place, gear)
                SELECT * FROM photo_words WHERE id = new.photo_id;
            DELETE FROM photo_position WHERE id = new.photo_id;
            INSERT INTO photo_position SELECT new.photo_id, new.latitude, new.latitude, new.longitude, new.longitude
                WHERE new.latitude IS NOT NULL;
        END;
        CREATE TRIGGER metadata_deleted AFTER DELETE ON metadata BEGIN
            DELETE FROM photo_text WHERE rowid = old.photo_id;
            DELETE FROM photo_position WHERE id = old.photo_id;
        END;

        DROP TRIGGER description_inserted;
        DROP TRIGGER description_updated;
        DROP TRIGGER description_deleted;
        DROP TABLE description_text;
        CREATE TRIGGER description_inserted AFTER INSERT ON description BEGIN
            \(describedAnew("new"))
        END;
        CREATE TRIGGER description_updated AFTER UPDATE ON description BEGIN
            \(describedAnew("new"))
        END;
        CREATE TRIGGER description_deleted AFTER DELETE ON description BEGIN
            \(describedAnew("old"))
        END;
        INSERT INTO metadata (photo_id)
            SELECT photo.id FROM description JOIN photo ON photo.sha256 = description.sha256
            WHERE photo.superseded_at IS NULL;
        """

    /// The version of the table by which the places of photos are named; NULL for none.
    private static let placeNames = "ALTER TABLE metadata_reader ADD COLUMN place_names TEXT"

    /// Renews the texts of the photos that the description `row` is of.
    private static func describedAnew(_ row: String) -> String {
        let photos = "SELECT id FROM photo WHERE sha256 = \(row).sha256"
        return """
            DELETE FROM photo_text WHERE rowid IN (SELECT photo_id FROM metadata WHERE photo_id IN (\(photos)));
            INSERT INTO photo_text (rowid, name, title, caption, keywords, people, place, gear)
                SELECT * FROM photo_words WHERE id IN (\(photos));
            INSERT INTO metadata (photo_id)
                SELECT id FROM photo WHERE sha256 = \(row).sha256 AND superseded_at IS NULL
                AND id NOT IN (SELECT photo_id FROM metadata);
            """
    }

    /// Moves to quarantine or duplicates: inserted before the file is moved, deleted when its outcome is recorded.
    private static let moves = """
        CREATE TABLE move (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            token TEXT NOT NULL UNIQUE,
            since INTEGER NOT NULL,
            inbox TEXT NOT NULL,
            path BLOB NOT NULL,
            -- The root as configured, and the name in it, which was free.
            root BLOB NOT NULL,
            destination BLOB NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL,
            sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
            photo_id INTEGER REFERENCES photo (id),
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            changed_ns INTEGER NOT NULL
        ) STRICT;
        """

    /// People's requests. One that moves a file is recorded before the move, and ended after it.
    private static let requests = """
        CREATE TABLE request (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            ended_at INTEGER,
            -- 'expired': done, and what it had put into the trash is deleted.
            step TEXT NOT NULL CHECK (step IN ('begun', 'done', 'undone', 'expired')),
            what TEXT NOT NULL,
            user INTEGER NOT NULL,
            user_name TEXT,
            inbox TEXT,
            path BLOB,
            outcome_id INTEGER REFERENCES outcome (id),
            photo_id INTEGER REFERENCES photo (id),
            as_is INTEGER NOT NULL CHECK (as_is IN (0, 1)),
            note TEXT,
            -- The move: nothing of it where no file was moved.
            token TEXT UNIQUE,
            source_root BLOB,
            source_path BLOB,
            destination_root BLOB,
            destination_path BLOB,
            sha256 BLOB,
            inode INTEGER,
            size INTEGER,
            modified INTEGER,
            modified_ns INTEGER,
            changed INTEGER,
            changed_ns INTEGER
        ) STRICT;
        CREATE INDEX request_outcome ON request (outcome_id);
        CREATE INDEX request_photo ON request (photo_id);
        CREATE INDEX request_step ON request (step, what) WHERE step <> 'expired';
        CREATE INDEX request_as_is ON request (inbox, size) WHERE as_is = 1;
        -- The request that took the photo back out of the library; superseded_at says when.
        ALTER TABLE photo ADD COLUMN undone_by INTEGER REFERENCES request (id);
        """

    private static let first = """
        CREATE TABLE photo (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            filed_at INTEGER NOT NULL,
            source_kept INTEGER NOT NULL CHECK (source_kept IN (0, 1)),
            -- A row whose library copy was found missing or damaged when the same content came again.
            superseded_at INTEGER,
            superseded_by INTEGER REFERENCES photo (id),
            \(photoColumns)
        ) STRICT;
        CREATE UNIQUE INDEX photo_sha256 ON photo (sha256) WHERE superseded_at IS NULL;
        CREATE UNIQUE INDEX photo_library_path ON photo (library, library_path) WHERE superseded_at IS NULL;
        CREATE INDEX photo_captured ON photo (captured);

        CREATE TABLE intent (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            token TEXT NOT NULL UNIQUE,
            since INTEGER NOT NULL,
            step TEXT NOT NULL CHECK (step IN ('begun', 'recorded')),
            temporary BLOB NOT NULL,
            photo_id INTEGER REFERENCES photo (id),
            \(photoColumns)
        ) STRICT;

        CREATE INDEX intent_sha256 ON intent (sha256);

        CREATE TABLE outcome (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            inbox TEXT NOT NULL,
            path BLOB NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL,
            sha256 BLOB,
            photo_id INTEGER REFERENCES photo (id),
            destination BLOB
        ) STRICT;
        CREATE INDEX outcome_at ON outcome (at);
        CREATE INDEX outcome_path ON outcome (path);
        CREATE INDEX outcome_photo ON outcome (photo_id);

        CREATE TABLE kept_source (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            inbox TEXT NOT NULL,
            path BLOB NOT NULL,
            since INTEGER NOT NULL,
            why TEXT NOT NULL,
            outcome_id INTEGER REFERENCES outcome (id),
            sha256 BLOB,
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            changed_ns INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX kept_source_path ON kept_source (inbox, path);
        CREATE INDEX kept_source_identity ON kept_source (inbox, inode, size, modified, modified_ns);
        """

    /// The address that a photo was downloaded from according to its file's attributes, or NULL.
    private static let origins = """
        ALTER TABLE photo ADD COLUMN origin TEXT;
        ALTER TABLE intent ADD COLUMN origin TEXT;
        """

    private static let tasks = """
        -- What was begun and must be finished before anything is filed.
        CREATE TABLE pending_task (name TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT;
        """

    private static let libraries = """
        -- Which directory a library was when it was last filed into: see statfs(2).
        CREATE TABLE library (
            path BLOB PRIMARY KEY,
            file_system_type INTEGER NOT NULL,
            file_system INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            since INTEGER NOT NULL
        ) STRICT;
        """

    /// The last photo recorded when a person accepted the directory as the library: neither it nor earlier ones
    /// identify the library. 0 if no one did.
    private static let acceptance = "ALTER TABLE library ADD COLUMN accepted_after INTEGER NOT NULL DEFAULT 0"

    /// Photos whose files were found missing or altered. A row is deleted when the photo is found intact again.
    private static let damage = """
        CREATE TABLE damage (
            photo_id INTEGER PRIMARY KEY REFERENCES photo (id) ON DELETE CASCADE,
            since INTEGER NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        -- How far the daemon has read a library again.
        CREATE TABLE verification (
            library BLOB PRIMARY KEY,
            cursor INTEGER,
            at INTEGER NOT NULL,
            whole_at INTEGER
        ) STRICT, WITHOUT ROWID;
        """

    private static let hooks = """
        -- Up to which outcome a program of the configuration was told what happened.
        CREATE TABLE hook (
            name TEXT PRIMARY KEY,
            told INTEGER NOT NULL,
            since INTEGER NOT NULL
        ) STRICT;
        """

    /// Renditions that are values, and reasons for those that cannot be made. Keyed by the photo's number, which grows
    /// with the time of filing, so that rows of new photos are adjacent. Pictures are files named by content and have
    /// no row.
    private static let renditions = """
        CREATE TABLE rendition (
            photo_id INTEGER NOT NULL REFERENCES photo (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            at INTEGER NOT NULL,
            -- Why it cannot be made; NULL where it is.
            reason TEXT,
            -- The bits of a 'hash': what the photo looks like.
            likeness INTEGER,
            PRIMARY KEY (photo_id, kind)
        ) STRICT, WITHOUT ROWID;
        """

    /// A file's role in its set (`raw`, `picture`, `film`, `sidecar`; NULL before sets were known) and the keys by
    /// which the set is found. Sidecars of different photos may have the same bytes; other contents are unique.
    private static let sets = """
        ALTER TABLE photo ADD COLUMN set_id INTEGER;
        ALTER TABLE photo ADD COLUMN role TEXT;
        ALTER TABLE photo ADD COLUMN content_id TEXT;
        ALTER TABLE photo ADD COLUMN set_key BLOB;
        ALTER TABLE photo ADD COLUMN short_key BLOB;
        DROP INDEX photo_sha256;
        CREATE UNIQUE INDEX photo_content ON photo (sha256) WHERE superseded_at IS NULL AND role IS NOT 'sidecar';
        CREATE INDEX photo_sha256 ON photo (sha256);
        CREATE INDEX photo_set ON photo (set_id) WHERE set_id IS NOT NULL;
        CREATE INDEX photo_set_key ON photo (inbox, set_key) WHERE set_key IS NOT NULL;
        CREATE INDEX photo_short_key ON photo (inbox, short_key) WHERE short_key IS NOT NULL;
        CREATE INDEX photo_content_id ON photo (inbox, content_id) WHERE content_id IS NOT NULL;

        -- What is filed together has one set_token; number_after says where in its name a number goes.
        ALTER TABLE intent ADD COLUMN set_token TEXT;
        ALTER TABLE intent ADD COLUMN joins INTEGER;
        ALTER TABLE intent ADD COLUMN number_after INTEGER;
        ALTER TABLE intent ADD COLUMN role TEXT;
        ALTER TABLE intent ADD COLUMN content_id TEXT;
        ALTER TABLE intent ADD COLUMN set_key BLOB;
        ALTER TABLE intent ADD COLUMN short_key BLOB;
        """
}
