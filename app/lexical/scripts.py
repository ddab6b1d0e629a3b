"""Which characters belong to which kind of writing, as classes of regular expressions."""

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af\u3005\u3007"
# Thai, Lao, Myanmar, Khmer, Tai, kana, bopomofo, Yi, Javanese, Hangul, without their punctuation: no spaces between
# words, or particles glued to them
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u19df"
    "\u1a20-\u1a9f\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31ff\ua000-\ua48c"
    "\ua980-\ua9c0\ua9e0-\ua9ff\uaa60-\uaadf\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\U0001b000-\U0001b16f"
)
EMOJI = (
    "\u231a-\u23fa\u25aa-\u2767\u2776-\u27bf\u2b05-\u2b55"
    "\U0001f004-\U0001f0cf\U0001f18e-\U0001f1e5\U0001f300-\U0001faff"
)
FLAG = "[\U0001f1e6-\U0001f1ff]{1,2}"
# combining marks belong to the letter before them (Indic and Tibetan vowel signs, accents that do not compose)
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u05b0-\u05c7\u0610-\u061a\u064b-\u065f\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u0816-\u082d\u0859-\u085b\u08ca-\u08ff\u0900-\u0963\u0966-\u096f\u0971-\u0dff\u0f18\u0f19\u0f35\u0f37\u0f39"
    "\u0f71-\u0f84\u0f86-\u0fbc\u135d-\u135f\u1885\u1886\u18a9\u1b00-\u1b44\u1b80-\u1bad\u1c24-\u1c37\u1dc0-\u1dff"
    "\ua8e0-\ua8f1\uabe3-\uabed"
)
