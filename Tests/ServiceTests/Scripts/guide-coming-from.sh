#!/bin/bash
# Photos of another program are adopted, and imported.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
useradd --create-home ana
for name in kept new; do make_photo $name.jpg 1; done
install -d /srv/photos/library/Holidays/Rome /srv/old/2019
cp /run/photos/kept.jpg /srv/photos/library/Holidays/Rome/
cat >/srv/photos/library/Holidays/Rome/kept.xmp <<'XMP'
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="5"/></rdf:RDF></x:xmpmeta>
XMP
cp /run/photos/new.jpg /srv/old/2019/IMG_1.JPG
cp /run/photos/new.jpg /srv/old/2019/z-copy.JPG
cp "$repository/Tests/Fixtures/mosaic.nef" /srv/old/2019/IMG_2.NEF
printf '%s\n' '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' \
    '<rdf:Description xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>' >/srv/old/2019/IMG_2.xmp
tree() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); } # DIRECTORY
tree /srv/photos/library >/run/library-before
tree /srv/old >/run/old-before

follow coming-from.md "A pile of folders, kept as they are"
check "no file was changed or moved" photoinboxd sh -c "$(declare -f tree); tree /srv/photos/library | diff /run/library-before -"
check "the photo is recorded where it is" photoinboxd sh -c 'photoinbox list | grep -q Holidays/Rome/kept.jpg'
as ana cp /run/photos/kept.jpg /srv/photos/inbox/again.jpg
eventually "coming again it is a duplicate" photoinboxd test -e /srv/photos/duplicates/inbox/again.jpg

follow coming-from.md "A pile of folders, arranged by date"
twins_in() { [ "$(find "$1" \( -name IMG_1.JPG -o -name z-copy.JPG \) | wc -l)" = 1 ]; } # DIRECTORY
eventually "the pile is filed" photoinboxd twins_in /srv/photos/library
eventually "what was twice in it once" photoinboxd twins_in /srv/photos/duplicates
eventually "the raw file, too" photoinboxd filed IMG_2.NEF
eventually "with its sidecar" photoinboxd filed IMG_2.xmp
check "the old folders are as they were" photoinboxd sh -c "$(declare -f tree); tree /srv/old | diff /run/old-before -"
rated() { photoinbox search --rating "$1" | grep -q "$2"; } # STARS NAME
eventually "the rating of a sidecar is known" photoinboxd rated 4 IMG_2.NEF
eventually "of one that was adopted, too" photoinboxd rated 5 kept.jpg

cd /run
printf 'path,title,rating\nHolidays/Rome/kept.jpg,Forum,5\nnowhere.jpg,None,1\n' >photos.csv
if (set -e; eval "$(blocks coming-from.md "From a table")") >/run/first 2>&1; then broken "a row that does not fit is said" -.slice; fi
check "a row that does not fit is said" photoinboxd grep -q nowhere.jpg photos.csv.rejects.csv
sed -i /nowhere/d photos.csv
follow coming-from.md "From a table"
check "titles of a table are known" photoinboxd sh -c 'photoinbox search Forum | grep -q kept.jpg'
follow coming-from.md "See that all of it came"
held "all of it was followed"
