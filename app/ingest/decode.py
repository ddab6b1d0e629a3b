"""Bytes to text: right, or refused. What is not Unicode is told by the characters that its language uses most."""

import codecs
from collections import Counter
from dataclasses import dataclass

from app.errors import UnreadableDocument

_BOMS = (  # the longer first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The characters that make up half of any text in their language. Bytes of another encoding give characters of the same
# script too, but hardly ever these.
_KANA = frozenset(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FD))))
_WESTERN = frozenset("éèêëàâäáãåæçñòóôöõøœùúûüßíìîïÉÈÊËÀÂÄÁÃÅÆÇÑÓÔÖÕØŒÙÚÛÜÍÎÏ’‘“”„‚«»‹›–—…•€£§°©®™¡·\u00a0")
_COMMON = {
    "gb18030": frozenset(
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方"
        "多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明"
        "性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次"
        "度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做"
        "接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住"
        "请求参值类型配置用户端服务器文件字符串默认函返响应页据库码线程网络版"
    ),
    "big5": frozenset(
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方"
        "多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明"
        "性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次"
        "度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做"
        "接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住"
        "請求參值類型配置用戶端服務器文件字符串默認函返響應頁據庫碼線程網絡版臺灣"
    ),
    "cp932": _KANA,
    "euc_jp": _KANA,
    "cp949": frozenset(
        "이다는의을를에가고로하은도지사기서해한어대자그리인나시부정보라게것있수제여주아일들만등과와으며면까장원전상성구동문국공학생위"
        "경개발비용안내없않되된할함합니습었였않때말더또같우오모세간신방조무실물적조회연결설치행명단분계관산입력출화소중체유영작업"
    ),
}
_PLAUSIBLE_SHARE = 0.3
_MARGIN = 0.1  # of the best reading over the next
_WESTERN_SHARE, _ASCII_SHARE = 0.95, 0.7  # of what is not ASCII, and of the letters
# where GB 2312 and Big5 have their frequent characters, by the first byte; the rest stands behind
_FREQUENT = {"gb18030": ("gb2312", 0xB0, 0xD7), "big5": ("big5", 0xA4, 0xC6)}
_FOREIGN_SHARE, _LETTERS_MIN, _UNSURE = 0.15, 6, 0.5
_UTF16_SAMPLE, _UTF16_UNITS = 4_096, 8


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and how sure its encoding is: 1 where the bytes themselves tell, else the share of usual characters."""

    text: str
    encoding: str
    confidence: float = 1.0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the outcome should know: that the encoding was told by the text alone."""
        if self.confidence == 1:
            return ()
        return (f"read as {self.encoding}, by its usual characters (confidence {self.confidence:.2f})",)


def decode(raw: bytes, source: str, declared: str | None = None) -> Decoded:
    """UTF-8; UTF-16 and UTF-32; what the file declares; else GB18030, Big5, Shift-JIS, EUC-JP, EUC-KR or Windows-1252
    where the result reads as text of their languages.

    Raises UnreadableDocument naming the first byte that does not fit, rather than return mojibake.
    """
    marked = next((name for bom, name in _BOMS if raw.startswith(bom)), None)
    if marked is None and (guessed := _utf16(raw)):
        return guessed
    try:
        return Decoded(raw.decode(marked or "utf-8"), marked or "utf-8")
    except UnicodeDecodeError as e:
        if marked:
            raise UnreadableDocument(f"{source}: is not {marked}, as its first bytes say: byte {e.start}") from e
        if b"\0" in raw:
            raise UnreadableDocument(f"{source}: is binary: contains NUL at byte {raw.index(0)}") from e
        if found := _declared(raw, declared) or _guessed(raw):
            return found
        value = f"0x{raw[e.start]:02X}"
        message = f"byte {e.start} ({value}) is not UTF-8, and the file reads as no other encoding for certain"
        raise UnreadableDocument(f"{source}: {message}; save it as UTF-8") from e


def _declared(raw: bytes, encoding: str | None) -> Decoded | None:
    try:
        return Decoded(raw.decode(encoding), encoding) if encoding else None
    except (UnicodeDecodeError, LookupError):
        return None


def _guessed(raw: bytes) -> Decoded | None:
    readings = sorted((_read_as(raw, encoding) for encoding in _COMMON), key=lambda each: each.confidence)
    second, best = readings[-2:]
    if best.confidence >= _PLAUSIBLE_SHARE and best.confidence - second.confidence >= _MARGIN:
        return best
    return _western(raw) or (_chinese(raw) if best.confidence < _FOREIGN_SHARE or best.encoding in _FREQUENT else None)


def _chinese(raw: bytes) -> Decoded | None:
    """A table of names, say, that has few usual words: all its characters are among the frequent half of a set's."""
    found = []
    for encoding, (narrow, first, last) in _FREQUENT.items():
        text = _read_as(raw, encoding).text
        letters = [char for char in text if not char.isascii() and char.isalpha()]
        frequent = sum(first <= (char.encode(narrow, "ignore") or b"\0")[0] <= last for char in letters)
        if len(letters) >= _LETTERS_MIN and frequent >= _WESTERN_SHARE * len(letters):
            found.append(Decoded(text, encoding, _UNSURE))
    return found[0] if len(found) == 1 else None


def _read_as(raw: bytes, encoding: str) -> Decoded:
    """The text, and the share of common characters among its letters beyond ASCII; 0 where it cannot be decoded."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return Decoded("", encoding, 0.0)
    letters = {char: count for char, count in Counter(text).items() if not char.isascii() and char.isalpha()}
    common = sum(count for char, count in letters.items() if char in _COMMON[encoding])
    return Decoded(text, encoding, common / max(sum(letters.values()), 1))


def _western(raw: bytes) -> Decoded | None:
    """Windows-1252, which holds Latin-1's letters: few of them among many of ASCII."""
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return None
    beyond = {char: count for char, count in Counter(text).items() if not char.isascii()}
    share = sum(count for char, count in beyond.items() if char in _WESTERN) / max(sum(beyond.values()), 1)
    plain = sum(char.isascii() for char in text if char.isalpha()) / max(sum(map(str.isalpha, text)), 1)
    hungarian = "õ" in text and "ã" not in text  # its ő stands where õ does; Portuguese has ã beside it
    likely = share >= _WESTERN_SHARE and plain >= _ASCII_SHARE and not hungarian
    return Decoded(text, "cp1252", share * 0.99) if likely else None


def _utf16(raw: bytes) -> Decoded | None:
    """UTF-16 without a byte order mark, told by NUL in every other byte of what is ASCII."""
    sample = raw[:_UTF16_SAMPLE]
    if len(raw) % 2 or b"\0" not in sample:
        return None
    for encoding, high in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        low = sample[::2] if encoding == "utf-16-le" else sample[1::2]
        if len(high) >= _UTF16_UNITS and high.count(0) > len(high) / 2 and not low.count(0):
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError:
                continue
            usual = sum(char.isprintable() or char.isspace() for char in text[:_UTF16_SAMPLE])
            share = usual / max(len(text[:_UTF16_SAMPLE]), 1)
            if share > _WESTERN_SHARE:
                return Decoded(text, encoding, share * 0.99)
    return None
