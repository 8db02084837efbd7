"""The benchmark's queries in the words of every engine, and its tables' columns."""

RANKINGS = {"pageURL": "VARCHAR", "pageRank": "INTEGER", "avgDuration": "INTEGER"}
USERVISITS = {
    "sourceIP": "VARCHAR",
    "destURL": "VARCHAR",
    "visitDate": "DATE",
    "adRevenue": "FLOAT",
    "userAgent": "VARCHAR",
    "countryCode": "VARCHAR",
    "languageCode": "VARCHAR",
    "searchWord": "VARCHAR",
    "duration": "INTEGER",
}
TABLES = {"rankings": RANKINGS, "uservisits": USERVISITS}

LIMITS = {"1a": 1000, "1b": 100, "1c": 10}
PREFIXES = {"2a": 8, "2b": 10, "2c": 12}
DATES = {"3a": "1980-04-01", "3b": "1983-01-01", "3c": "2010-01-01"}
ALL = [*LIMITS, *PREFIXES, *DATES, "4"]


def sql(query):
    """The text of a query; functions in lower case, because DataFusion is asked to leave names alone."""
    if query in LIMITS:
        return f"SELECT pageURL, pageRank FROM rankings WHERE pageRank > {LIMITS[query]}"
    if query in PREFIXES:
        prefix = f"substr(sourceIP, 1, {PREFIXES[query]})"
        return f"SELECT {prefix}, sum(adRevenue) FROM uservisits GROUP BY {prefix}"
    return (
        "SELECT sourceIP, totalRevenue, avgPageRank FROM ("
        "SELECT sourceIP, avg(pageRank) AS avgPageRank, sum(adRevenue) AS totalRevenue "
        "FROM rankings AS R, uservisits AS UV WHERE R.pageURL = UV.destURL "
        f"AND UV.visitDate BETWEEN DATE '1980-01-01' AND DATE '{DATES[query]}' GROUP BY UV.sourceIP"
        ") AS T ORDER BY totalRevenue DESC LIMIT 1"
    )
