"""Makes the files of docs/cookbook.md: `python make.py [DIRECTORY]`, by default the directory of this script.

All values come from one generator with a fixed seed, so that the files are the same each time. Names, addresses
and figures are made up. Needs msgpack and pyarrow (tests/requirements.txt).
"""

import csv
import json
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from urllib.parse import quote_plus

import msgpack
import pyarrow
import pyarrow.parquet

DIRECTORY = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
FIRST = ["Ada", "Bruno", "Carla", "David", "Elif", "Femi", "Greta", "Hugo", "Ines", "Jonas", "Kaja", "Luis", "Mira",
         "Nils", "Olga", "Pavel", "Rosa", "Sami", "Tess", "Uma", "Vera", "Willem", "Yara", "Zoe"]
LAST = ["Abel", "Berg", "Costa", "Dahl", "Ebner", "Fischer", "Garcia", "Haas", "Ivanov", "Jansen", "Keller", "Lindt",
        "Moreau", "Novak", "Oliveira", "Peters", "Rossi", "Sato", "Thom", "Urban", "Vogel", "Weiss"]


def path(name):
    return DIRECTORY / name


def random(name):
    """The generator of a file: one that changes leaves the others as they are."""
    return Random(f"cookbook {name}")


def write_csv(name, head, rows, **form):
    with path(name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", **form)
        writer.writerow(head)
        writer.writerows(rows)


def write_lines(name, lines, encoding="utf-8"):
    path(name).write_bytes("".join(line + "\n" for line in lines).encode(encoding))


def customers():
    r, rows = random("customers"), []
    for number in range(1, 81):
        first, last = r.choice(FIRST), r.choice(LAST)
        country = r.choices(["DE", "FR", "NL", "AT", "PL"], [40, 25, 15, 12, 8])[0]
        signed_up = date(2024, 1, 2) + timedelta(days=int(500 * r.random() ** 1.2))
        born = date(1955, 1, 1) + timedelta(days=r.randrange(18000))
        rows.append((number, f"{first} {last}", country, signed_up, born))
    names = ["customer_id", "name", "country", "signed_up", "born"]
    table = pyarrow.table({name: list(values) for name, values in zip(names, zip(*rows))})
    pyarrow.parquet.write_table(table, path("customers.parquet"))
    return rows


PRODUCTS = [("coffee", "house blend", 8.90), ("coffee", "espresso", 10.50), ("coffee", "decaf", 9.90),
            ("coffee", "single origin", 14.00), ("tea", "green", 6.50), ("tea", "earl grey", 5.90),
            ("tea", "rooibos", 5.50), ("tea", "oolong", 11.00), ("ware", "mug", 12.00), ("ware", "kettle", 49.00),
            ("ware", "french press", 34.50), ("ware", "grinder", 79.00)]


def orders(customers):
    """Orders of customers: after the sign-up, some at once and then fewer each month, and some customers never again."""
    r, rows = random("orders"), []
    for customer, _, _, signed_up, _ in customers:
        day, stays = signed_up + timedelta(days=r.choice([0, 0, 0, 1, 3, 9])), r.uniform(0.55, 0.97)
        favourite = r.randrange(len(PRODUCTS) - 2)
        while day < date(2025, 7, 1):
            at = datetime(day.year, day.month, day.day, r.choice([7, 9, 11, 12, 14, 17, 19, 20, 21]), r.randrange(60),
                          r.randrange(60))
            for _ in range(r.choices([1, 2], [4, 1])[0]):
                category, product, price = PRODUCTS[favourite if r.random() < 0.4 else r.randrange(len(PRODUCTS))]
                channel = r.choices(["web", "app", "shop"], [5, 3 + (at.year - 2024) * 3, 2])[0]
                quantity = 1 if price > 30 else r.choices([1, 2, 3, 6], [5, 3, 2, 1])[0]
                price = round(price * (1.08 if at >= datetime(2025, 1, 1) else 1), 2)
                rows.append((at, customer, channel, category, product, quantity, price))
            if r.random() > stays:
                break
            day += timedelta(days=int(4 + r.expovariate(1 / 32)))
    rows.sort()
    number, numbered = 1000, []
    for at, customer, *rest in rows:
        number += 1
        if r.random() < 0.015:
            number += r.randrange(1, 4)
        numbered.append((number, customer, at, *rest))
    head = ["order_id", "customer_id", "ordered_at", "channel", "category", "product", "quantity", "price"]
    write_csv("orders.csv", head, [(*row[:-1], f"{row[-1]:.2f}") for row in numbered])
    return numbered


def parcels(orders):
    """What became of the orders of the last weeks."""
    r, rows = random("parcels"), []
    for number, _, at, *_ in orders[-75:]:
        paid_late = r.random() < 0.2
        at += timedelta(minutes=r.randrange(1, 4))
        for status, hours in [("ordered", 0), ("paid", 60 if paid_late else 0.3), ("packed", 20), ("shipped", 6),
                              ("delivered", 44), ("returned", 120)]:
            at += timedelta(seconds=int(3600 * hours * r.uniform(0.5, 1.5)))
            if at > datetime(2025, 7, 1) or (status == "returned" and r.random() < 0.85):
                break
            rows.append((at, number, status))
    rows.sort()
    write_csv("parcels.csv", ["time", "order_id", "status"], rows)


def events():
    """Pages that the users of a shop opened within two weeks: some visits, each a way that may end anywhere."""
    r, rows = random("events"), []
    way = [("/", 0.8), ("/products", 0.75), ("/cart", 0.65), ("/checkout", 0.7), ("/thanks", 0)]
    for user in range(1, 61):
        device = r.choices(["phone", "desktop", "tablet"], [10, 8, 3])[0]
        at = datetime(2025, 6, 2) + timedelta(seconds=r.randrange(9 * 86400))
        for _ in range(r.choices([1, 2, 3, 4], [4, 3, 2, 1])[0]):
            if at > datetime(2025, 6, 16):
                break
            step = r.choices([0, 1, 2], [7, 2, 1])[0]
            while True:
                rows.append((user, at, device, way[step][0]))
                at += timedelta(seconds=int(10 + r.expovariate(1 / 90)))
                if r.random() < 0.25 and step in (0, 1, 2):
                    step = 1
                elif r.random() < way[step][1] * (0.85 if device == "phone" else 1):
                    step += 1
                else:
                    break
            at += timedelta(seconds=int(2000 + r.expovariate(1 / 200000)))
    rows.sort(key=lambda row: row[1])
    write_csv("events.csv", ["user_id", "time", "device", "page"], rows)


def checks():
    """Whether three servers answered, every five minutes of eight hours; one was not asked for a while."""
    r, rows = random("checks"), []
    down = {"alpha": [(20, 23), (61, 62)], "beta": [(7, 8), (33, 45)], "gamma": [(88, 96)]}
    for step in range(96):
        for server, spans in down.items():
            if server == "alpha" and 70 <= step < 79:
                continue
            ok = not any(begin <= step < end for begin, end in spans)
            at = datetime(2025, 6, 10, 8) + timedelta(minutes=5 * step)
            rows.append((server, at, "true" if ok else "false", round(r.lognormvariate(3.4, 0.5)) if ok else ""))
    write_csv("checks.csv", ["server", "time", "ok", "ms"], rows)


def bookings():
    r, rows = random("bookings"), []
    for room in ["Amsel", "Birke", "Ceder"]:
        for day in range(5):
            start = datetime(2025, 6, 16 + day, 8) + timedelta(minutes=15 * r.randrange(0, 5))
            for _ in range(r.randrange(3, 6)):
                end = start + timedelta(minutes=15 * r.randrange(2, 9))
                rows.append((room, r.choice(FIRST), start, end))
                start += timedelta(minutes=15 * r.randrange(2, 12))
    r.shuffle(rows)
    write_csv("bookings.csv", ["room", "who", "start_at", "end_at"], rows)


def sensors():
    """Degrees of two days, every half hour; one sensor was silent for a time, and single values are missing."""
    r, rows = random("sensors"), []
    start = datetime(2025, 6, 10)
    for step in range(96):
        for sensor, mean, swing in [("cellar", 12.0, 0.6), ("office", 22.5, 3.0), ("roof", 19.0, 9.0)]:
            if sensor == "office" and 30 <= step < 36:
                continue
            at = start + timedelta(minutes=30 * step)
            warmth = 1 - abs(((step % 48) - 29) / 24)
            value = round(mean + swing * warmth + r.gauss(0, 0.3), 1)
            if sensor == "roof" and step in (40, 71):
                value = 61.3 if step == 40 else -18.0
            rows.append((sensor, at, None if r.random() < 0.04 else value))
    names = ["sensor", "time", "celsius"]
    table = pyarrow.table({name: list(values) for name, values in zip(names, zip(*rows))})
    pyarrow.parquet.write_table(table, path("sensors.parquet"))
    alarms = sorted((start + timedelta(seconds=r.randrange(2 * 86400)), r.choice(["door", "smoke", "water"]),
                     r.choice(["cellar", "office", "roof"])) for _ in range(16))
    write_csv("alarms.csv", ["time", "kind", "sensor"], alarms)


def log():
    """A web server's log of six hours: shoppers, robots, one host that guesses passwords, and ten bad minutes."""
    r, lines = random("log"), []
    agents = ["Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5) Safari/605.1",
              "Mozilla/5.0 (Windows NT 10.0; Win64) Chrome/126.0"]
    robots = ["Googlebot/2.1 (+http://www.google.com/bot.html)", "bingbot/2.0", "AhrefsBot/7.0"]
    words = ["french press", "mug", "green tea", "espresso", "grinder", "decaf", "kettle & cups"]
    start = datetime(2025, 6, 10, 8)

    def line(at, host, request, status, size, ms, agent, user="-"):
        when = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
        lines.append((at, f'{host} - {user} [{when}] "{request} HTTP/1.1" {status} {size or "-"} "-" "{agent}" {ms}'))

    for _ in range(330):
        at = start + timedelta(seconds=r.randrange(6 * 3600))
        robot = r.random() < 0.15
        host = f"10.0.{r.randrange(4)}.{r.randrange(1, 30)}" if not robot else f"192.0.2.{r.randrange(1, 6)}"
        target = r.choices(["/", "/products", f"/product/{r.randrange(1, 13)}", "search", "/cart", "/api/orders",
                            "/old-page"], [5, 5, 7, 4, 2, 2, 1])[0]
        if target == "search":
            source = r.choice(["", "", "&utm_source=newsletter", "&utm_source=ads"])
            target = f"/search?q={quote_plus(r.choice(words))}{source}"
        target = "/products" if robot and target.startswith(("/api", "/cart", "/search")) else target
        method = "POST" if target == "/api/orders" else "GET"
        status = 404 if target == "/old-page" else 200
        ms = int(r.lognormvariate(4.2 if target.startswith(("/search", "/api")) else 3.2, 0.7)) + 1
        if datetime(2025, 6, 10, 11, 20) <= at < datetime(2025, 6, 10, 11, 40) and r.random() < 0.5:
            status, ms = r.choice([500, 502, 503]), ms + 3000
        elif r.random() < 0.05:
            status = 304
        line(at, host, f"{method} {target}", status, 0 if status == 304 else r.randrange(300, 20000), ms,
             r.choice(robots if robot else agents), r.choice(["-", "-", "-", "ada", "hugo"]) if not robot else "-")
    for n in range(18):
        line(start + timedelta(minutes=95, seconds=17 * n), "203.0.113.9", "POST /login", 401, 512, 20 + n,
             "curl/8.5.0")
    for _ in range(12):
        at = start + timedelta(seconds=r.randrange(6 * 3600))
        line(at, f"10.0.{r.randrange(4)}.{r.randrange(1, 30)}", "POST /login", r.choice([200, 200, 401]), 512, 35,
             r.choice(agents))
    lines.sort()
    write_lines("access.log", [text for _, text in lines])


def carts():
    r, lines = random("carts"), []
    cities = {"DE": ["Berlin", "Köln"], "FR": ["Lyon", "Nantes"], "NL": ["Utrecht"]}
    for number in range(1, 121):
        country = r.choices(list(cities), [5, 3, 2])[0]
        items = []
        for category, product, price in r.sample(PRODUCTS, r.choices([1, 2, 3, 5], [3, 4, 2, 1])[0]):
            items.append({"sku": f"{category[:2].upper()}-{PRODUCTS.index((category, product, price)) + 1:02}",
                          "name": product, "quantity": r.choice([1, 1, 1, 2, 3]), "price": price})
        at = datetime(2025, 6, 1) + timedelta(seconds=r.randrange(30 * 86400))
        cart = {"id": number, "time": at.isoformat(), "customer": {"name": f"{r.choice(FIRST)} {r.choice(LAST)}",
                "address": {"city": r.choice(cities[country]), "country": country}}, "items": items,
                "tags": r.sample(["gift", "express", "fragile", "first", "wholesale"], r.choice([0, 1, 1, 2, 3]))}
        if r.random() < 0.3:
            cart["coupon"] = {"code": r.choice(["SUMMER", "WELCOME"]), "percent": r.choice([5, 10, 15])}
        lines.append(json.dumps(cart, ensure_ascii=False))
    write_lines("carts.jsonl", lines)


def webhooks():
    r, rows = random("webhooks"), []
    at = datetime(2025, 6, 20)
    for number in range(1, 91):
        at += timedelta(seconds=r.randrange(60, 9000))
        kind = r.choices(["payment.succeeded", "payment.failed", "plan.changed", "user.created"], [5, 2, 2, 2])[0]
        if kind.startswith("payment"):
            payload = {"amount": r.randrange(500, 20000), "currency": r.choice(["eur", "eur", "usd"]),
                       "card": {"brand": r.choice(["visa", "visa", "mastercard", "amex"]),
                                "last4": f"{r.randrange(10000):04}"}}
            if kind == "payment.failed":
                payload["error"] = {"code": r.choice(["insufficient_funds", "expired_card", "do_not_honor"])}
            if r.random() < 0.1:
                payload["test"] = True
        elif kind == "plan.changed":
            payload = {"plan": dict(zip(["from", "to"], r.sample(["free", "team", "pro"], 2))),
                       "seats": [r.choice(FIRST).lower() for _ in range(r.randrange(1, 4))]}
        else:
            payload = {"user": {"email": f"{r.choice(FIRST).lower()}@example.org"}}
        rows.append((number, at, kind, json.dumps(payload)))
    write_csv("webhooks.csv", ["id", "received_at", "kind", "payload"], rows)


def german(amount):
    """An amount as a German bank prints it: 1.234,56."""
    return f"{amount:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def bank():
    r, lines = random("bank"), []
    lines += ["Kontoauszug", "Konto;DE00 1234 5678 9012 3456 00", "Zeitraum;01.01.2025 bis 30.06.2025", ""]
    lines.append("Buchungstag;Empfänger;Zweck;Betrag;Saldo")
    day, balance, entries = date(2025, 1, 1), 2480.15, []
    while day < date(2025, 7, 1):
        if day.day == 1:
            entries += [(day, "Hausverwaltung Süd", "Miete", -945.00), (day, "Stadtwerke", "Strom", -78.50)]
        if day.day == 28:
            entries.append((day, "Kaffeerösterei GmbH", "Gehalt", 2875.40))
        if r.random() < 0.42:
            who, purpose, low, high = r.choice([("Bäckerei Krüger", "Kartenzahlung", 3, 14),
                                                ("Supermarkt", "Kartenzahlung", 12, 110),
                                                ("Bahn", "Fahrkarte", 15, 120), ("Geldautomat", "Bargeld", 20, 200),
                                                ("Buchladen", "Kartenzahlung", 8, 60)])
            entries.append((day, who, purpose, -round(r.uniform(low, high), 2)))
        day += timedelta(days=1)
    for day, who, purpose, amount in entries:
        balance = round(balance + amount, 2)
        lines.append(f"{day.strftime('%d.%m.%Y')};{who};{purpose};{german(amount)};{german(balance)}")
    write_lines("bank.csv", lines, "latin-1")


def survey():
    r, lines = random("survey"), []
    lines += ["# Survey of June, second wave", "# stars: 1 (bad) to 5 (good)", "id,age,city,stars,income,answered"]
    cities = ["Berlin", "berlin ", "BERLIN", "Hamburg", "hamburg", " Hamburg", "Köln", "Koeln", "köln"]
    for number in range(1, 141):
        age = r.choice(["NA", "-"]) if r.random() < 0.08 else r.randrange(18, 80)
        stars = "NA" if r.random() < 0.1 else r.choices([1, 2, 3, 4, 5], [1, 2, 4, 6, 5])[0]
        income = r.randrange(14, 72) * 100
        income = r.choices([f"€ {income}", f'"{income:,}"', f"{income} EUR", f"{income / 1000:g}k", "n/a",
                            "would rather not say"], [4, 4, 3, 3, 1, 1])[0]
        day = date(2025, 6, 1) + timedelta(days=r.randrange(20))
        answered = r.choices([day.isoformat(), day.strftime("%d.%m.%Y"), "yesterday"], [14, 6, 1])[0]
        lines.append(f"{number},{age},{r.choice(cities)},{stars},{income},{answered}")
        if number % 50 == 0:
            lines.append("# next page")
    write_lines("survey.csv", lines)


def budget():
    r, months = random("budget"), ["jan", "feb", "mar", "apr", "may", "jun"]
    departments = ["engineering", "marketing", "office", "sales", "support"]
    rows, expenses = [], []
    for department in departments:
        mean = r.randrange(20, 90) * 100
        plan = [int(round(mean * r.uniform(0.8, 1.2), -2)) for _ in months]
        rows.append([department, *plan])
        for month, planned in enumerate(plan, 1):
            for _ in range(r.randrange(4, 8)):
                day = date(2025, month, r.randrange(1, 29))
                expenses.append((day, department, f"{planned / 5.5 * r.uniform(0.6, 1.4):.2f}"))
    expenses.sort()
    write_csv("budget.csv", ["department", *months], rows)
    write_csv("expenses.csv", ["day", "department", "amount"], expenses)


def stock():
    r = random("stock")
    monday = [[f"SKU-{n:03}", f"{r.choice(['blue', 'green', 'red', 'white'])} {r.choice(['mug', 'pot', 'jar', 'cup'])}",
               r.randrange(4, 40) * 50 / 100, r.randrange(0, 90)] for n in range(1, 91)]
    tuesday = [list(row) for row in monday if row[0] not in ("SKU-014", "SKU-057", "SKU-083")]
    for row in r.sample(tuesday, 9):
        row[3] = max(0, row[3] - r.randrange(1, 12))
    for row in r.sample(tuesday, 4):
        row[2] = round(row[2] * 1.1, 2)
    tuesday[r.randrange(len(tuesday))][1] = "white teapot"
    tuesday += [["SKU-091", "red teapot", 18.5, 24], ["SKU-092", "blue teapot", 18.5, 12]]
    for name, rows in [("stock_monday.csv", monday), ("stock_tuesday.csv", tuesday)]:
        write_csv(name, ["sku", "name", "price", "quantity"], [(*row[:2], f"{row[2]:.2f}", row[3]) for row in rows])


HOLIDAYS = [("2025-01-01", "New Year"), ("2025-04-18", "Good Friday"), ("2025-04-21", "Easter Monday"),
            ("2025-05-01", "Labour Day"), ("2025-05-29", "Ascension Day"), ("2025-06-09", "Whit Monday"),
            ("2025-10-03", "Unity Day"), ("2025-12-25", "Christmas"), ("2025-12-26", "Second Christmas Day")]


def rates():
    """Euros for one unit of a currency on working days, and invoices of any day."""
    r, rows = random("rates"), []
    write_csv("holidays.csv", ["day", "name"], HOLIDAYS)
    value, day = {"CHF": 1.062, "GBP": 1.198, "USD": 0.962}, date(2025, 1, 2)
    while day < date(2025, 7, 1):
        if day.weekday() < 5 and day.isoformat() not in dict(HOLIDAYS):
            for currency in value:
                value[currency] *= 1 + r.gauss(-0.0003, 0.004)
                rows.append((day, currency, f"{value[currency]:.4f}"))
        day += timedelta(days=1)
    write_csv("rates.csv", ["day", "currency", "euros"], rows)
    invoices = sorted((date(2025, 1, 4) + timedelta(days=r.randrange(176)), r.choice(list(value)),
                       r.randrange(4000, 250000) / 100) for _ in range(70))
    invoices = [(f"R-{n:03}", day, currency, f"{amount:.2f}") for n, (day, currency, amount) in enumerate(invoices, 1)]
    write_csv("invoices.csv", ["invoice", "day", "currency", "amount"], invoices)


def contacts():
    r, rows = random("contacts"), []
    for _ in range(85):
        first, last = r.choice(FIRST), r.choice(LAST)
        mail = f"{first}.{last}@example.{r.choice(['com', 'org'])}".lower()
        phone = f"+49 30 {r.randrange(100, 1000)} {r.randrange(10, 100)}"
        for _ in range(r.choices([1, 2, 3], [7, 2, 1])[0]):
            spelling = r.choice([mail, mail, mail.title(), f" {mail}", mail.upper()])
            name = f"{first} {last}"
            if r.random() < 0.12:
                place = r.randrange(1, len(name) - 1)
                name = name[:place] + name[place + 1:]
            changed = date(2024, 1, 1) + timedelta(days=r.randrange(540))
            rows.append((name, spelling, phone if r.random() < 0.7 else "", changed))
    rows += r.sample(rows, 5)
    r.shuffle(rows)
    write_csv("contacts.csv", ["name", "email", "phone", "changed"], rows)


def employees():
    r, rows = random("employees"), [(1, "Vera Keller", "", "managing director", 142000, date(2015, 3, 1))]
    teams = [("engineering", 16), ("sales", 9), ("operations", 10)]
    names = [f"{first} {last}" for first in FIRST for last in LAST if f"{first} {last}" != "Vera Keller"]
    for team, people in teams:
        head = len(rows) + 1
        rows.append((head, names.pop(r.randrange(len(names))), 1, f"head of {team}", r.randrange(88, 112) * 1000,
                     date(2016, 1, 1) + timedelta(days=r.randrange(1000))))
        leads = []
        for place in range(people):
            boss = head if place < 2 else r.choice(leads)
            number = len(rows) + 1
            if place < 2:
                leads.append(number)
            role = f"{team} lead" if place < 2 else team
            rows.append((number, names.pop(r.randrange(len(names))), boss, role,
                         r.randrange(42, 68) * 1000 + (14000 if place < 2 else 0),
                         date(2017, 1, 1) + timedelta(days=r.randrange(2900))))
    write_csv("employees.csv", ["id", "name", "manager_id", "role", "salary", "joined"], rows)


def parts():
    write_csv("parts.csv", ["assembly", "part", "quantity"], [
        ("bicycle", "frame", 1), ("bicycle", "wheel", 2), ("bicycle", "drive", 1), ("bicycle", "brake", 2),
        ("wheel", "rim", 1), ("wheel", "hub", 1), ("wheel", "spoke", 32), ("wheel", "tyre", 1), ("hub", "axle", 1),
        ("hub", "bearing", 2), ("drive", "crank", 2), ("drive", "chain", 1), ("drive", "bottom bracket", 1),
        ("bottom bracket", "bearing", 2), ("bottom bracket", "axle", 1), ("crank", "pedal", 1), ("pedal", "bearing", 2),
        ("brake", "lever", 1), ("brake", "cable", 1), ("brake", "pad", 2), ("chain", "link", 114), ("frame", "bolt", 12),
        ("brake", "bolt", 3)])
    ways = [("Berlin", "Hamburg", 105), ("Berlin", "Hannover", 98), ("Berlin", "Leipzig", 75), ("Berlin", "Erfurt", 103),
            ("Leipzig", "Erfurt", 42), ("Erfurt", "Frankfurt", 132), ("Erfurt", "Nürnberg", 79),
            ("Nürnberg", "München", 62), ("Hannover", "Hamburg", 79), ("Hannover", "Frankfurt", 141),
            ("Hannover", "Köln", 160), ("Köln", "Frankfurt", 65), ("Frankfurt", "Stuttgart", 78),
            ("Stuttgart", "München", 132), ("Frankfurt", "Nürnberg", 126)]
    write_csv("trains.csv", ["from_city", "to_city", "minutes"],
              sorted(ways + [(to, start, minutes) for start, to, minutes in ways]))


def tickets():
    """Tickets of a help desk in MessagePack, a map each; those that are open have no `closed_at`."""
    r, packer = random("tickets"), msgpack.Packer(datetime=True)
    from datetime import timezone
    at, packed = datetime(2025, 5, 1, 8, tzinfo=timezone.utc), b""
    for number in range(1, 161):
        at += timedelta(seconds=r.randrange(600, 60000))
        priority = r.choices(["low", "normal", "urgent"], [3, 6, 1])[0]
        hours = r.lognormvariate({"low": 3.6, "normal": 2.8, "urgent": 1.2}[priority], 0.8)
        closed = at + timedelta(seconds=int(hours * 3600))
        closed = None if closed > datetime(2025, 7, 1, tzinfo=timezone.utc) else closed
        packed += packer.pack({"id": number, "opened_at": at, "closed_at": closed, "priority": priority,
                               "team": r.choice(["billing", "devices", "accounts"])})
    path("tickets.msgpack").write_bytes(packed)


def main():
    DIRECTORY.mkdir(exist_ok=True)
    people = customers()
    parcels(orders(people))
    for make in [events, checks, bookings, sensors, log, carts, webhooks, bank, survey, budget, stock, rates, contacts,
                 employees, parts, tickets]:
        make()


if __name__ == "__main__":
    main()
