#include "cpagefiles.h"

// Before C23 it is an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define FILE(name) name, (const char *)(const unsigned char[]) {

// A file that changes is compiled anew: what is embedded is a dependency, as what is included is.
static const struct cpagefiles_file files[] = {
    {FILE("again.js")
#embed "../WebPages/Resources/again.js" suffix(, 0)
    }},
    {FILE("app.js")
#embed "../WebPages/Resources/app.js" suffix(, 0)
    }},
    {FILE("captions.js")
#embed "../WebPages/Resources/captions.js" suffix(, 0)
    }},
    {FILE("chosen.js")
#embed "../WebPages/Resources/chosen.js" suffix(, 0)
    }},
    {FILE("confirm.js")
#embed "../WebPages/Resources/confirm.js" suffix(, 0)
    }},
    {FILE("decisions.js")
#embed "../WebPages/Resources/decisions.js" suffix(, 0)
    }},
    {FILE("dom.js")
#embed "../WebPages/Resources/dom.js" suffix(, 0)
    }},
    {FILE("drop.js")
#embed "../WebPages/Resources/drop.js" suffix(, 0)
    }},
    {FILE("exif.js")
#embed "../WebPages/Resources/exif.js" suffix(, 0)
    }},
    {FILE("grid.js")
#embed "../WebPages/Resources/grid.js" suffix(, 0)
    }},
    {FILE("guest.html")
#embed "../WebPages/Resources/guest.html" suffix(, 0)
    }},
    {FILE("guest.js")
#embed "../WebPages/Resources/guest.js" suffix(, 0)
    }},
    {FILE("icon.svg")
#embed "../WebPages/Resources/icon.svg" suffix(, 0)
    }},
    {FILE("layout.js")
#embed "../WebPages/Resources/layout.js" suffix(, 0)
    }},
    {FILE("map.js")
#embed "../WebPages/Resources/map.js" suffix(, 0)
    }},
    {FILE("missing.html")
#embed "../WebPages/Resources/missing.html" suffix(, 0)
    }},
    {FILE("names.js")
#embed "../WebPages/Resources/names.js" suffix(, 0)
    }},
    {FILE("now.js")
#embed "../WebPages/Resources/now.js" suffix(, 0)
    }},
    {FILE("pace.js")
#embed "../WebPages/Resources/pace.js" suffix(, 0)
    }},
    {FILE("page.html")
#embed "../WebPages/Resources/page.html" suffix(, 0)
    }},
    {FILE("photos.js")
#embed "../WebPages/Resources/photos.js" suffix(, 0)
    }},
    {FILE("qr.js")
#embed "../WebPages/Resources/qr.js" suffix(, 0)
    }},
    {FILE("queue.js")
#embed "../WebPages/Resources/queue.js" suffix(, 0)
    }},
    {FILE("read.js")
#embed "../WebPages/Resources/read.js" suffix(, 0)
    }},
    {FILE("reader.js")
#embed "../WebPages/Resources/reader.js" suffix(, 0)
    }},
    {FILE("search.js")
#embed "../WebPages/Resources/search.js" suffix(, 0)
    }},
    {FILE("send.js")
#embed "../WebPages/Resources/send.js" suffix(, 0)
    }},
    {FILE("server.js")
#embed "../WebPages/Resources/server.js" suffix(, 0)
    }},
    {FILE("sha256.js")
#embed "../WebPages/Resources/sha256.js" suffix(, 0)
    }},
    {FILE("shots.js")
#embed "../WebPages/Resources/shots.js" suffix(, 0)
    }},
    {FILE("sign-in.js")
#embed "../WebPages/Resources/sign-in.js" suffix(, 0)
    }},
    {FILE("style.css")
#embed "../WebPages/Resources/style.css" suffix(, 0)
    }},
    {FILE("text.js")
#embed "../WebPages/Resources/text.js" suffix(, 0)
    }},
    {FILE("timeline.js")
#embed "../WebPages/Resources/timeline.js" suffix(, 0)
    }},
    {FILE("viewer.js")
#embed "../WebPages/Resources/viewer.js" suffix(, 0)
    }},
    {FILE("wall.js")
#embed "../WebPages/Resources/wall.js" suffix(, 0)
    }},
    {FILE("words.js")
#embed "../WebPages/Resources/words.js" suffix(, 0)
    }},
    {FILE("world.json")
#embed "../WebPages/Resources/world.json" suffix(, 0)
    }},
};

const size_t cpagefiles_count = sizeof files / sizeof *files;

struct cpagefiles_file cpagefiles_file(size_t index) { return files[index]; }
