"""Bytes to text: right, or refused."""

import codecs
from collections import Counter

from app.errors import UnreadableDocument

_BOMS = (  # the longer first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The characters that make up half of any Chinese text. Bytes of another encoding read as GB18030 or Big5 give Han
# characters too, but hardly ever these.
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
}
_PLAUSIBLE_SHARE = 0.3


def decode(raw: bytes, source: str) -> str:
    """UTF-8; UTF-16 and UTF-32 with a byte order mark; GB18030 and Big5 where the result reads as Chinese.

    Raises UnreadableDocument naming the first byte that does not fit, rather than return mojibake.
    """
    encoding = next((name for bom, name in _BOMS if raw.startswith(bom)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as e:
        if encoding != "utf-8":
            raise UnreadableDocument(f"{source}: is not {encoding}, as its first bytes say: byte {e.start}") from e
        if b"\0" in raw:
            raise UnreadableDocument(f"{source}: is binary: contains NUL at byte {raw.index(0)}") from e
        share, text = max(_read_as(raw, name) for name in _COMMON)
        if share < _PLAUSIBLE_SHARE:
            value = f"0x{raw[e.start]:02X}"
            message = f"byte {e.start} ({value}) is not UTF-8, and the file does not read as GB18030 or Big5 either"
            raise UnreadableDocument(f"{source}: {message}; save it as UTF-8") from e
        return text


def _read_as(raw: bytes, encoding: str) -> tuple[float, str]:
    """The text, and the share of common characters among its letters beyond ASCII; 0 where it cannot be decoded."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return 0.0, ""
    letters = {char: count for char, count in Counter(text).items() if not char.isascii() and char.isalpha()}
    common = sum(count for char, count in letters.items() if char in _COMMON[encoding])
    return common / max(sum(letters.values()), 1), text
