//! The queries of the AMPLab Big Data Benchmark by name.

/// The names of the queries, in the benchmark's order.
pub const NAMES: [&str; 10] = ["1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "3c", "4"];

/// The text of a query; `script` is the command that query 4 streams the documents through.
pub fn sql(name: &str, script: &str) -> Option<String> {
    let one = |x| format!("SELECT pageURL, pageRank FROM rankings WHERE pageRank > {x}");
    let two = |x| {
        format!(
            "SELECT SUBSTR(sourceIP, 1, {x}), SUM(adRevenue) FROM uservisits GROUP BY SUBSTR(sourceIP, 1, {x})"
        )
    };
    let three = |x| {
        format!(
            "SELECT sourceIP, totalRevenue, avgPageRank FROM (SELECT sourceIP, AVG(pageRank) AS avgPageRank, \
             SUM(adRevenue) AS totalRevenue FROM rankings AS R, uservisits AS UV WHERE R.pageURL = UV.destURL \
             AND UV.visitDate BETWEEN DATE '1980-01-01' AND DATE '{x}' GROUP BY UV.sourceIP) \
             ORDER BY totalRevenue DESC LIMIT 1"
        )
    };
    Some(match name.to_ascii_lowercase().as_str() {
        "1a" => one(1000),
        "1b" => one(100),
        "1c" => one(10),
        "2a" => two(8),
        "2b" => two(10),
        "2c" => two(12),
        "3a" => three("1980-04-01"),
        "3b" => three("1983-01-01"),
        "3c" => three("2010-01-01"),
        "4" => format!(
            "SELECT destPage, SUM(cnt) FROM transform('documents', '{}', \
             'sourcePage VARCHAR, destPage VARCHAR, cnt BIGINT') GROUP BY destPage",
            script.replace('\'', "''")
        ),
        _ => return None,
    })
}
