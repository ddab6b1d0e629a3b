"""Two hundred texts of many kinds and lengths, built from our own sentences; the same ones at every call."""

import random

CHINESE = (
    "公司二〇二三年的营业收入为十亿元，同比增长百分之五。",
    "数据库在提交事务之前会先写入预写日志。",
    "请在每月十五日之前提交报销单，逾期将顺延到下个月处理。",
    "新员工入职满一年后，每年享有十天带薪年假。",
    "如果缓存服务不可用，系统会直接查询数据库并记录一条警告。",
    "向量检索按照余弦距离排序，关键词检索按照词频和逆文档频率打分。",
    "会议室需要提前在内部网站上预订，取消时请通知行政部门。",
    "轴承的表面硬度应不低于五十八，出厂前逐件检验。",
    "这家餐厅的红烧肉很有名，周末常常要排队一个小时。",
    "台风预计于明天傍晚登陆，沿海渔船须在中午前回港。",
)
ENGLISH = (
    "The revenue of the company grew by five percent in the last fiscal year.",
    "A transaction is durable once its record has reached the write-ahead log.",
    "Expense reports must be filed by the fifteenth; late ones are paid a month later.",
    "Every employee is entitled to ten days of paid leave after the first year.",
    "When the cache is away, the service reads from the database and says so.",
    "Vectors are ranked by cosine distance, and keywords by how rare they are.",
    "Please book the meeting room on the intranet and cancel it if plans change.",
    "The bearing's surface hardness shall not be less than fifty-eight.",
    "We walked along the river until the lights of the old mill came into view.",
    "Fishing boats have to return to harbour before the storm makes landfall.",
)
TRADITIONAL = (
    "臺灣的鐵路網絡連接了主要城市，旅客可以使用電子票證。",
    "圖書館每週一閉館，借閱證請向櫃檯申請。",
    "這份合約自簽署之日起生效，有效期限為兩年。",
)
CODE = (
    "def add(a: int, b: int) -> int:\n    return a + b\n",
    "SELECT id, title FROM document WHERE state = 'active' ORDER BY id LIMIT 10;",
    "for (size_t i = 0; i < n; ++i) { total += weights[i] * values[i]; } // dot product",
    '{"name": "E11000", "status": 409, "detail": "duplicate key error"}',
    "curl -sS https://example.org/v2.3.1/items?page=2 | jq '.items[].id'",
)
OTHERS = (
    "Доставка занимает от двух до пяти рабочих дней.",
    "يجب تقديم الطلب قبل نهاية الشهر.",
    "会議室は事前に予約してください。キャンセルは前日までです。",
    "회의실은 미리 예약해야 합니다.",
    "वार्षिक रिपोर्ट अगले सप्ताह प्रकाशित होगी।",
    "Η βιβλιοθήκη είναι κλειστή κάθε Δευτέρα.",
    "ราคาสินค้ารวมภาษีมูลค่าเพิ่มแล้ว",
    "חשבונית המס נשלחה בדואר אלקטרוני.",
    "Die Übergangsfrist läuft am 31. Dezember ab; Größe und Gewicht stehen auf dem Typenschild.",
)
SYMBOLS = (
    "🎉🎉 上线成功！🚀 thanks everyone 🙏🏽",
    "👩‍💻 works from 🏠 on Fridays ☕️",
    "ＡＢＣ－１２３４５　ｆｕｌｌ　ｗｉｄｔｈ　ｔｅｘｔ",
    "ｱｲｳｴｵ ﾃｽﾄ ①②③ ㈱ ℃ ㎏ ½",
    "a   b\t\tc\n\n\nd    e",
    "——……《》「」『』【】，。；：？！",
    "x² + y² = r², ∑ᵢ wᵢxᵢ ≥ θ, ∀ε>0 ∃δ",
    "3.14159 2718281828 0x7fffffff 1e-12 ¥1,299.00",
)
SHORT = ("", " ", "\n\t ", "a", "中", "？", "1", "é", "𠀀", "ok", "你好", "GB/T 7714", "HTTPException", "max_tokens")


def mixed_texts() -> list[str]:
    """200 texts: one-liners of every kind, passages in one or two languages, a few beyond the model's 512 tokens."""
    rng = random.Random(20_240_229)  # noqa: S311 - test data, not a secret
    texts = [*SHORT, *SYMBOLS, *OTHERS, *CODE, *TRADITIONAL, *CHINESE, *ENGLISH]
    texts += [_paragraph(rng, pool, 60, 30) for pool in (CHINESE + ENGLISH, CHINESE + TRADITIONAL, ENGLISH + CODE)]
    texts += [_paragraph(rng, pool, 120, 60) for pool in (CHINESE, ENGLISH, CHINESE + ENGLISH + OTHERS)]
    texts += [_paragraph(rng, CHINESE + ENGLISH + CODE + SYMBOLS, count, count) for count in range(22, 58, 4)]
    pools = (CHINESE, ENGLISH, CHINESE + ENGLISH, TRADITIONAL, CODE + ENGLISH, OTHERS, SYMBOLS + CHINESE)
    while len(texts) < 200:
        texts.append(_paragraph(rng, rng.choice(pools), 14, 1))
    return texts


def passages(count: int) -> list[str]:
    """Passages of about 150 to 400 tokens, Chinese, English and mixed in turn."""
    rng = random.Random(7)  # noqa: S311 - test data, not a secret
    pools = (CHINESE, ENGLISH, CHINESE + ENGLISH)
    return [_paragraph(rng, pools[number % 3], 24, 9) for number in range(count)]


def _paragraph(rng: random.Random, pool: tuple[str, ...], longest: int, shortest: int) -> str:
    sentences = [rng.choice(pool) for _ in range(rng.randint(shortest, longest))]
    return rng.choice(("", " ", "\n")).join(sentences)
