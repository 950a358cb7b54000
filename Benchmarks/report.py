"""Prints a report of scripts/bench for people."""

PEERS = ["floor", "inotifywait"]


def table(rows):
    """Prints rows in columns: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if not column else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "   ".join(cells).rstrip())


def columns(spreads, keys, scale, unit, digits, anchors, last=()):
    """A table's rows: figures of each spread, the ratio of its median to those of the anchors, and more columns."""
    rows = [("", *(key for key in keys), *(f"× {anchor}" for anchor in anchors), *(title for title, _ in last))]
    for name, values in spreads.items():
        figures = [f"{values[key] / scale:.{digits}f}{unit}" for key in keys]
        ratios = [f"{values['median'] / spreads[anchor]['median']:.2f}"
                  if anchor in spreads and spreads[anchor]["median"] else "" for anchor in anchors]
        rows.append((name, *figures, *ratios, *(text(name, values) for _, text in last)))
    return rows


def verdicts(result):
    """Each target beside what was reached."""
    for target in result["targets"]:
        reached = "ok" if target["reached"] else "missed"
        value = target["value"] if isinstance(target["value"], int) else f"{target['value']:.3f}"
        print(f"  target {target['what']} {'≥' if target.get('least') else '≤'} {target['limit']:g}: {value} {reached}")


def count(number):
    return f"{number:,}" if number else "none"


def print_filing(result):
    size = result["bytes"] / result["photos"] / 1e6
    print(f"\nFrom finished write to filed: {result['photos']} JPEGs of {size:.1f} MB, one by one, "
          f"{result['file_system']} on {result['mounted_on']}")
    table(columns(result["spreads"], ("median", "p99", "max"), 1e6, " ms", 1, ["floor"]))
    print("  floor: the same durable work done by hand, in the same run")
    if process := result.get("process"):
        idle, after = process["idle"], process["after"]
        print(f"  daemon: idle {idle['rss'] / 1e6:.1f} MB resident, {idle['threads']} threads; after the photographs "
              f"{after['rss'] / 1e6:.1f} MB; {process['processor_seconds'] * 1000 / result['photos']:.1f} ms of "
              "processor time a photograph")



def print_setup(result):
    print(f"\nSetting up a tree of {result['directories']:,} directories, from exec to \"ready\", tmpfs")
    processor = result["processor"]
    used = ("processor time", lambda name, _: f"{processor[name]['median'] / 1e9:.3f} s")
    table(columns(result["wall"], ("median", "min", "max"), 1e9, " s", 3, PEERS, [used]))
    if "watchman" in result["wall"]:
        print("  watchman: from its server's start until it has told the first clock, which comes after the crawl")
    verdicts(result)


def print_memory(result):
    print(f"\nResident memory for {result['directories']:,} watched directories beyond that for an empty one, "
          "in bytes a directory")
    last = [("of it private", lambda _, values: f"{values['private']:.0f}"),
            ("empty", lambda _, values: f"{values['empty'] / 1e6:.1f} MB")]
    table(columns(result["resident"], ("median", "min", "max"), 1, "", 0, PEERS, last))
    print("  resident: Rss in smaps_rollup, once it is idle; private: its Private_Dirty, so none of the program's file")
    verdicts(result)


def print_cpu(result):
    print(f"\nProcessor time for {result['files']:,} finished files in {result['directories']} directories, tmpfs")
    last = [("until all told", lambda _, values: f"{values['wall']['median'] / 1e9:.1f} s"),
            ("lost", lambda _, values: count(values["lost"])), ("told again", lambda _, values: count(values["again"]))]
    table(columns(result["processor"], ("median", "min", "max"), 1e9, " s", 3, PEERS, last))
    if "watchman" in result["processor"]:
        print("  watchman: its server and its client")
    print("  lost, told again: in the worst run")
    verdicts(result)


def print_latency(result):
    print(f"\nFrom close(2) to the printed name: {result['files']} files a run, one by one, or 15 s, tmpfs")
    last = [("files", lambda _, values: str(values["count"])), ("lost", lambda _, values: count(values["lost"]))]
    table(columns(result["close_to_name"], ("median", "p99", "max"), 1e3, " µs", 1, PEERS, last))
    verdicts(result)


def print_idle(result):
    print(f"\nWake-ups of an idle program in {result['seconds']} s: voluntary context switches of all its threads")
    rows = [("", "at 5 s ticks", "ticks", "expected", "others", "resident")]
    for name, values in result["programs"].items():
        ticks = [str(values[key]) for key in ("tick_wakeups", "ticks_seen", "ticks_expected")]
        rows.append((name, *(ticks if values["ticks_expected"] else [""] * 3), count(values["other_wakeups"]),
                     f"{values['resident'] / 2**20:.1f} MiB"))
    table(rows)
    for name, values in result["programs"].items():
        for other in values["others"][:4]:
            print(f"  {name}, others: {other['wakeups']} of thread {other['thread']}, in {other['waits_in']}")
    verdicts(result)


def print_thumbnails(result):
    print(f"\nProcessor time for thumbnails of {result['photos']} JPEGs of 12 megapixels, "
          f"{result['bytes'] / result['photos'] / 1e6:.1f} MB each, a photograph")
    table(columns(result["processor"], ("median", "min", "max"), 1e6, " ms", 1, ["vipsthumbnail"]))
    print("  photoinbox: thumbs --rebuild with one decoder, with all that starts and confines it")
    verdicts(result)


def print_pipeline(result):
    print(f"\nFrom {result['photos']} JPEGs of {result['bytes'] / result['photos'] / 1e6:.1f} MB in the inbox to all of "
          f"them filed, recorded and with thumbnails, {result['processors']} processors, a photograph")
    processor = result["processor"]
    last = [("photos a second", lambda _, values: f"{1e9 / values['median']:.1f}"),
            ("processor time", lambda name, _: f"{processor[name]['median'] / 1e6:.1f} ms")]
    table(columns(result["wall"], ("median", "min", "max"), 1e6, " ms", 1, ["floor", "script"], last))
    print("  script: inotifywait, sha256sum, exiftool, vipsthumbnail, mv and sqlite3 in a loop, which syncs no photograph")
    print("  floor: djpeg -scale 1/4 and sha256sum, spread over the processors")
    verdicts(result)


def print_catalogue(result):
    print(f"\nFiling a photograph with {result['rows']:,} of them catalogued ({result['catalogue_bytes'] / 1e6:.0f} MB), "
          f"and with none; {result['runs']} runs of {result['photos']}")
    wall = result["wall"]
    last = [("until recorded", lambda name, _: f"{wall[name]['median'] / 1e6:.1f} ms")]
    table(columns(result["processor"], ("median", "min", "max"), 1e6, " ms", 2, ["none before"], last))
    verdicts(result)


def print_descriptions(result):
    print(f"\nTaking a table of {result['rows']:,} rows into the catalogue; {result['runs']} runs")
    peak = result["peak"]
    last = [("rows a second", lambda _, values: f"{result['rows'] * 1e9 / values['median']:,.0f}"),
            ("peak memory", lambda name, _: f"{peak[name] / 2**20:.0f} MiB")]
    table(columns(result["wall"], ("median", "min", "max"), 1e9, " s", 1, ["sqlite3 .import"], last))
    waits = result["readers"]
    print(f"  a reader's query meanwhile: median {waits['median'] / 1e6:.1f} ms, 99th percentile "
          f"{waits['p99'] / 1e6:.1f} ms, longest {waits['max'] / 1e6:.1f} ms of {waits['count']}")
    verdicts(result)


def print_clients(result):
    print(f"\nFrom finished write to filed, with {result['clients']:,} hostile clients at the control socket and with none; "
          f"{result['runs']} runs of {result['photos']}, in turn, {result['file_system']}")
    processor = result["processor"]
    last = [("daemon's processor time", lambda name, _: f"{processor[name]['median'] / 1e6:.1f} ms a photograph")]
    table(columns(result["filed"], ("median", "p99", "max"), 1e6, " ms", 1, ["no clients"], last))
    done = {key: sum(run[key] for run in result["done"]) for key in ("connected", "refused", "sent_away", "asked")}
    print(f"  the clients connected {count(done['connected'])} times, found no room {count(done['refused'])} times, were sent "
          f"away {count(done['sent_away'])} times; the daemon held {result['resident'] / 2**20:.1f} MiB at the end")
    verdicts(result)


def print_noise_of(name, ratio):
    print(f"  noise: the medians of {name!r} alone differ by × {ratio:.3f} from run to run")


def print_pages(result):
    print(f"\nFrom finished write to filed, with 100 live pages open and with none; {result['runs']} runs of "
          f"{result['photos']}, in turn, {result['file_system']}; and the first byte with nothing running but the socket")
    processor = result["processor"]
    last = [("daemon's processor time", lambda name, _: f"{processor[name]['median'] / 1e6:.1f} ms a photograph")]
    table(columns(result["filed"], ("median", "p99", "max"), 1e6, " ms", 1, ["no pages"], last))
    print_noise_of("no pages", result["noise"])
    table(columns(result["first"], ("median", "p99", "max"), 1e6, " ms", 1, []))
    ended = f"{seconds:.0f} s" if (seconds := result["idle"]["seconds"]) is not None else "never"
    print(f"  photoinbox-web held at most {result['resident'] / 2**20:.1f} MiB; the last program without anybody ended after {ended}")
    verdicts(result)


def print_slow(result):
    print(f"\nFrom finished write to filed, with {result['clients']:,} slow clients, half of them at photoinbox-web and half at "
          f"photoinbox-drop, and with none; {result['runs']} runs of {result['photos']}, in turn, {result['file_system']}")
    processor, done = result["processor"], result["done"]
    last = [("daemon's processor time", lambda name, _: f"{processor[name]['median'] / 1e6:.1f} ms a photograph")]
    table(columns(result["filed"], ("median", "p99", "max"), 1e6, " ms", 1, ["no clients"], last))
    print_noise_of("no clients", result["noise"])
    table(columns(result["answers"], ("median", "p99", "max"), 1e6, " ms", 1, []))
    told = {key: sum(run[key] for run in done) for key in ("connected", "refused", "answered", "ended", "processor_seconds", "seconds")}
    print(f"  the slow clients connected {count(told['connected'])} times, at most {max(run['most'] for run in done):,} at a time; the "
          f"servers had no room {count(told['refused'])} times, refused {count(told['answered'])} requests and ended "
          f"{count(told['ended'])} connections")
    print(f"  the clients themselves took {100 * told['processor_seconds'] / told['seconds']:.0f} % of a processor; "
          + ", ".join(f"{name} held at most {held / 2**20:.1f} MiB" for name, held in result["resident"].items()))
    for line in result["failures"][:4]:
        print(f"  not answered: {line}")
    verdicts(result)


def print_sending(result):
    print(f"\nSending photos by {result['through']}: from the last byte to the answer, and to the receipt; {result['runs']} runs of "
          f"{result['photos']}, {result['file_system']}; and one file of {result['bytes'] / 2**30:.0f} GiB")
    table(columns(result["receipts"], ("median", "p99", "max"), 1e6, " ms", 1, []))
    table(columns(result["rates"], ("median", "min", "max"), 1e6, " MB/s", 0, ["cp, fsync"]))
    print("  photoinbox-drop: its SHA-256 and its name durable before the answer; copyparty syncs nothing")
    print("  with 20 files at a time, " + ", ".join(f"{name} held at most {held / 2**20:.1f} MiB" for name, held in result["peak"].items()))
    verdicts(result)


def print_dump(result):
    print(f"\nTelling the whole state, with {result['rows']:,} photographs catalogued and {result['watches']:,} watches")
    table(columns(result["spreads"], ("median", "p99", "max"), 1e-3, " ms", 1, []))
    verdicts(result)


def print_wall(result):
    print(f"\nThe timeline of {result['rows']:,} photographs ({result['catalogue_bytes'] / 1e6:.0f} MB), to the first byte")
    table(columns(result["spreads"], ("median", "p99", "max"), 1e6, " ms", 2, []))
    print(f"  photoinbox-web held at most {result['peak'] / 2**20:.1f} MiB while {result['people']} people scrolled")
    verdicts(result)


def print_browsing(result):
    print(f"\n{result['rows']:,} photographs of {result['days']:,} days in Chromium {result['version']}, 1280 × 900, "
          f"{result['runs']} runs; {result['seconds']:.0f} s")
    for name, screen in result["screens"].items():
        print(f"  the first screen of {name}, on a line of 10 Mbit/s and 100 ms: {screen['requests']['median']:.0f} requests, "
              f"{screen['page_bytes']['median'] / 1e3:.0f} KB, and {screen['picture_bytes']['median'] / 1e3:.0f} KB of pictures, "
              f"{screen['pictures']['median']:.0f} of them in view")
    table(columns({f"{name}, {what}": screen[key] for name, screen in result["screens"].items()
                   for key, what in (("first", "something painted"), ("painted", "all painted"))},
                  ("median", "p99", "max"), 1, " ms", 0, []))
    table([("", "frame to frame", "p99", "max", "frames", "tasks > 50 ms", "longest")] + [
        (name, f"{one['median']:.1f} ms", f"{one['p99']:.1f} ms", f"{one['max']:.1f} ms", f"{one['frames']:,}", count(one["tasks"]),
         f"{one['longest']:.0f} ms" if one["tasks"] else "") for name, one in (
             ("the photos", result["scrolled"]), ("floor", result["floor"]))])
    work = result["floor"]["work"]
    print(f"  noise: the floor is an empty page, scrolled the same way, in turn; the same work in each of its frames took {work['min']:.1f} "
          f"to {work['max']:.1f} ms there, median {work['median']:.1f}, 99th percentile {work['p99']:.1f}")
    print("  the longest task in processor time, which no other program adds to, but the trace does: "
          + ", ".join(f"{name} {each:.0f} ms" for name, each in result["processor"].items()))
    if longest := {name: each for name, each in result["scrolled"]["by"].items() if each}:
        print("  longest task by what is done: " + ", ".join(f"{name} {each:.0f} ms" for name, each in longest.items()))
    print("  memory of scripts " + ", ".join(f"{name} {held / 1e6:.1f} MB" for name, held in result["heaps"].items()) + "; layout shifted "
          + ", ".join(f"{name} {shift:.4f}" for name, shift in result["shift"].items()))
    print(f"  reached by scrolling, keys and dates: {result['reach']['reached']} of {result['reach']['asked']} photographs, each the one "
          "that the catalogue has there, with its picture; all days counted")
    if found := result["firefox"]:
        print(f"  the same in Firefox {found['version']}: {found['reached']} of {found['asked']}")
    for line in (result["reach"]["missed"] + (found["missed"] if found else []))[:4]:
        print(f"  not reached: {line}")
    for line in sorted(set(result["faults"]["console"] + result["faults"]["hosts"]))[:8]:
        print(f"  {line}")
    verdicts(result)


def print_search(result):
    print(f"\nSearching {result['rows']:,} photographs with ten words each ({result['catalogue_bytes'] / 1e6:.0f} MB) "
          f"{result['searches']} times, the command's start included, while {result['filed']} others are filed")
    table(columns(result["spreads"], ("median", "p99", "max"), 1e-3, " ms", 1, []))
    verdicts(result)


def print_import(result):
    print(f"\nFrom a card into an inbox: {result['photos']:,} photographs, {result['bytes'] / 1e9:.1f} GB, {result['runs']} "
          "runs, nothing of them in memory")
    table(columns(result["rates"], ("median", "min", "max"), 1e6, " MB/s", 1, ["cp, sync, sha256sum"]))
    print("  photoinbox import: each copy synced, read again from the disk and compared before it gets its name")
    verdicts(result)


def print_fleet(result):
    print(f"\nThe catalogue in PostgreSQL {result['version']}, empty at first and with {result['rows']:,} photographs "
          f"({result['catalogue_bytes'] / 1e6:.0f} MB); {result['runs']} runs")
    last = [("idle", lambda name, _: f"{result['resident'][name] / 2**20:.1f} MiB"),
            ("round trips", lambda name, _: str(result["trips"].get(name, ""))),
            ("and behind it", lambda name, _: str(result["behind"].get(name, "")))]
    table(columns(result["alone"], ("median", "p99", "max"), 1e6, " ms", 2, ["SQLite"], last))
    print(f"  one photograph alone, of 4 MB, on {result['file_system']}, from its finished write until it was gone from the inbox")
    table(columns(result["costs"], ("median", "p99", "max"), 1e6, " ms", 3, []))
    print("  round trip: SELECT 1 by libpq; flush: a row that is committed")
    rates = {name: values for name, values in result["rates"].items() if not name.startswith("of the floor")}
    table(columns(rates, ("median", "min", "max"), 1, "", 0, ["floor"]))
    print(f"  photographs a second: {result['hosts']} hosts, {result['each']} small photographs each, all files on tmpfs, but for the "
          f"server's; floor: the same statements by pgbench, {result['hosts']} clients, each transaction in one round trip")
    verdicts(result)


def print_life(result):
    print(f"\nOne daemon's life: {result['photos']:,} small JPEGs without a pause, {result['seconds'] / 60:.0f} min, "
          f"{result['file_system']}")
    blocks = result["blocks"]
    shown = sorted({index for index in (0, 1, 2, 4, 9, 19, 49, 99) if index < len(blocks)} | {len(blocks) - 1})
    table([("filed", "wall", "processor each", "resident", "at most")] + [
        (f"{one['photos']:,}", f"{one['wall']:.1f} s", f"{one['processor'] / 1e6:.2f} ms", f"{one['resident'] / 2**20:.1f} MB",
         f"{one['peak'] / 2**20:.1f} MB") for one in (blocks[index] for index in shown)])
    verdicts(result)


PARTS = {
    "filing": print_filing, "setup": print_setup, "memory": print_memory, "cpu": print_cpu, "latency": print_latency,
    "idle": print_idle, "thumbnails": print_thumbnails, "pipeline": print_pipeline, "catalogue": print_catalogue,
    "clients": print_clients, "pages": print_pages, "slow": print_slow, "sending": print_sending, "dump": print_dump, "wall": print_wall,
    "browsing": print_browsing, "search": print_search, "fleet": print_fleet,
    "descriptions": print_descriptions, "import": print_import, "life": print_life,
}


def print_noise(moments):
    print(f"\nNoise: the durable work of a photograph done by hand, {next(iter(moments.values()))['count']} times at each of these moments")
    last = [("load", lambda _, values: f"{values['load']:.1f}")]
    table(columns(moments, ("median", "p99", "max"), 1e6, " ms", 1, [], last))
    medians = [values["median"] for values in moments.values()]
    print(f"  noise: its medians differ by × {max(medians) / min(medians):.3f} in this run; a target that is missed by less says nothing")


def people(report):
    machine = report["machine"]
    print(f"photo-inbox benchmark: {machine['processors']} processors ({machine['model']}), "
          f"{machine['memory'] / 2**30:.0f} GiB, Linux {machine['kernel']}, load {machine['load']:.1f}")
    if report["versions"]:
        runs = f"{report['runs']} runs" if report["runs"] > 1 else "1 run"
        print(f"{', '.join(report['versions'].values())}: medians of {runs}, the programs in turn")
    for part, printed in PARTS.items():
        if result := report.get(part):
            printed(result)
    if moments := report.get("noise"):
        print_noise(moments)
    for line in report["left_out"]:
        print(f"\nleft out: {line}")
    for line in report["failed"]:
        print(f"\nfailed: {line}")
