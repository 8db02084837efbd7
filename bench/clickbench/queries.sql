-- 43 statements over the table hits, written for palais. Each asks a question of the kind of the query with the same number
-- in ClickBench (github.com/ClickHouse/ClickBench): the same operators, with columns, constants and names of our own.
-- The published text stays outside: its licence (CC BY-NC-SA 4.0) is not that of palais. bench/clickbench.py --queries
-- runs a copy of it.

-- 1 to 7: counts, sums and extremes of the whole table
SELECT count(*) AS rows FROM hits;
SELECT count(*) AS with_price FROM hits WHERE ParamPrice > 0;
SELECT sum(Age) AS years, count(*) AS rows, avg(FetchTiming) AS fetch FROM hits;
SELECT avg(FUniqID) AS middle FROM hits;
SELECT count(DISTINCT ClientIP) AS addresses FROM hits;
SELECT count(DISTINCT Title) AS titles FROM hits;
SELECT max(LocalEventTime) AS latest, min(EventDate) AS earliest FROM hits;

-- 8 to 15: groups of few and of many, the largest first, and how many are distinct in each
SELECT SearchEngineID, count(*) AS searches FROM hits WHERE SearchEngineID > 0 GROUP BY SearchEngineID ORDER BY count(*) DESC;
SELECT OS, count(DISTINCT RegionID) AS regions FROM hits GROUP BY OS ORDER BY regions DESC LIMIT 12;
SELECT CounterID, max(Age), count(*) AS n, avg(SendTiming), sum(IsMobile), count(DISTINCT ClientIP) FROM hits GROUP BY CounterID ORDER BY n DESC LIMIT 15;
SELECT UTMSource, count(DISTINCT UserID) AS users FROM hits WHERE UTMSource <> '' GROUP BY UTMSource ORDER BY users DESC LIMIT 8;
SELECT OS, BrowserLanguage, count(DISTINCT ClientIP) AS addresses FROM hits WHERE MobilePhoneModel = '' GROUP BY OS, BrowserLanguage ORDER BY addresses DESC LIMIT 20;
SELECT Title, count(*) AS views FROM hits WHERE Title <> '' GROUP BY Title ORDER BY views DESC LIMIT 20;
SELECT Title, count(DISTINCT UserID) AS readers FROM hits WHERE Title <> '' GROUP BY Title ORDER BY readers DESC LIMIT 20;
SELECT BrowserCountry, SearchPhrase, count(*) AS searches FROM hits WHERE SearchPhrase <> '' GROUP BY BrowserCountry, SearchPhrase ORDER BY searches DESC LIMIT 25;

-- 16 to 20: groups by user, of which some are wanted, or any
SELECT ClientIP, count(*) FROM hits GROUP BY ClientIP ORDER BY count(*) DESC LIMIT 7;
SELECT UserID, URL, count(*) FROM hits GROUP BY UserID, URL ORDER BY count(*) DESC LIMIT 12;
SELECT UserID, URL, count(*) FROM hits GROUP BY UserID, URL LIMIT 12;
SELECT UserID, extract(hour FROM EventTime) AS hour, PageCharset, count(*) FROM hits GROUP BY UserID, hour, PageCharset ORDER BY count(*) DESC LIMIT 12;
SELECT UserID, EventTime FROM hits WHERE UserID = 435090932899640449;

-- 21 to 27: texts with a pattern, and first rows by time and by text
SELECT count(*) AS pages FROM hits WHERE URL LIKE '%.html';
SELECT SearchPhrase, max(Referer), count(*) AS n FROM hits WHERE Referer LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY n DESC LIMIT 15;
SELECT BrowserLanguage, min(Referer), max(Title), count(*) AS n, count(DISTINCT ClientIP) FROM hits WHERE Title LIKE '%video%' AND Referer NOT LIKE '%forum%' AND Referer <> '' GROUP BY BrowserLanguage ORDER BY n DESC LIMIT 5;
SELECT * FROM hits WHERE Title LIKE '%Google%' ORDER BY ClientEventTime LIMIT 15;
SELECT Referer FROM hits WHERE Referer <> '' ORDER BY EventTime DESC LIMIT 15;
SELECT Title FROM hits WHERE Title <> '' ORDER BY Title LIMIT 15;
SELECT URL, EventDate FROM hits WHERE URL <> '' ORDER BY EventDate, URL LIMIT 15;

-- 28 to 30: lengths, parts of texts, and many sums
SELECT RegionID, avg(length(Title)) AS letters, count(*) AS n FROM hits WHERE Title <> '' GROUP BY RegionID HAVING count(*) > 20 ORDER BY letters DESC LIMIT 30;
SELECT regexp_replace(URL, '^[a-z]+://([^/?]+).*$', '\1') AS host, avg(length(URL)) AS letters, count(*) AS n, max(URL) FROM hits WHERE URL <> '' GROUP BY host HAVING count(*) > 100 ORDER BY letters DESC LIMIT 30;
SELECT sum(Age), sum(Age * 2), sum(Age * 3), sum(Age * 4), sum(Age * 5), sum(Age * 6), sum(Age * 7), sum(Age * 8), sum(Age * 9),
  sum(Age - 1), sum(Age - 2), sum(Age - 3), sum(Age - 4), sum(Age - 5), sum(Age - 6), sum(Age - 7), sum(Age - 8), sum(Age - 9),
  sum(OS), sum(OS * 2), sum(OS * 3), sum(OS * 4), sum(OS * 5), sum(OS * 6), sum(OS * 7), sum(OS * 8), sum(OS * 9),
  sum(OS - Age), sum(OS - Age - 1), sum(OS - Age - 2), sum(OS - Age - 3), sum(OS - Age - 4), sum(OS - Age - 5) FROM hits;

-- 31 to 36: about as many groups as rows
SELECT OS, HID, count(*) AS n, sum(IsLink), avg(Age) FROM hits WHERE URL <> '' GROUP BY OS, HID ORDER BY n DESC LIMIT 12;
SELECT FUniqID, RemoteIP, count(*) AS n, sum(IsLink), avg(Age) FROM hits WHERE SearchPhrase <> '' GROUP BY FUniqID, RemoteIP ORDER BY n DESC LIMIT 12;
SELECT FUniqID, RemoteIP, count(*) AS n, sum(IsLink), avg(Age) FROM hits GROUP BY FUniqID, RemoteIP ORDER BY n DESC LIMIT 12;
SELECT Referer, count(*) AS n FROM hits GROUP BY Referer ORDER BY n DESC LIMIT 12;
SELECT 'page', Referer, count(*) AS n FROM hits GROUP BY 1, Referer ORDER BY n DESC LIMIT 12;
SELECT RegionID, RegionID + 1, RegionID * 2, RegionID - 7, count(*) AS n FROM hits GROUP BY RegionID, RegionID + 1, RegionID * 2, RegionID - 7 ORDER BY n DESC LIMIT 12;

-- 37 to 43: one counter in some days, and not the first of its groups
SELECT Title, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND IsEvent = 0 AND IsParameter = 0 AND Title <> '' GROUP BY Title ORDER BY views DESC LIMIT 12;
SELECT Referer, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND IsEvent = 0 AND IsParameter = 0 AND Referer <> '' GROUP BY Referer ORDER BY views DESC LIMIT 12;
SELECT Referer, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND IsMobile <> 0 AND IsEvent = 0 GROUP BY Referer ORDER BY views DESC LIMIT 12 OFFSET 100;
SELECT OS, AdvEngineID, CASE WHEN SearchPhrase <> '' AND AdvEngineID = 0 THEN SearchPhrase ELSE '-' END AS words, Title AS page, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND IsEvent = 0 GROUP BY OS, AdvEngineID, words, page ORDER BY views DESC LIMIT 12 OFFSET 500;
SELECT RefererHash, EventDate, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND OS IN (1, 7, 30, 44) AND URLHash = 2868770270353813622 GROUP BY RefererHash, EventDate ORDER BY views DESC LIMIT 12 OFFSET 10;
SELECT SendTiming, ClientTimeZone, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-05' AND EventDate < '2013-07-25' AND IsEvent = 0 AND RefererHash = 3594120000172545465 GROUP BY SendTiming, ClientTimeZone ORDER BY views DESC LIMIT 12 OFFSET 200;
SELECT date_trunc('hour', EventTime) AS hour, count(*) AS views FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-08' AND EventDate < '2013-07-20' AND IsEvent = 0 GROUP BY date_trunc('hour', EventTime) ORDER BY date_trunc('hour', EventTime) LIMIT 12 OFFSET 200;
