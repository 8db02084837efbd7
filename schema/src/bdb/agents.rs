//! About 2,000 user agents of the years of the benchmark, made by rule; none of them was copied from a log.
//!
//! No agent holds a comma or a quote, so that a reader of csv that knows no quotes can read the table.

/// A user agent and how often it visits, in any unit.
#[derive(Debug)]
pub struct Agent {
    /// What it calls itself.
    pub text: String,
    /// How often it visits.
    pub weight: f64,
}

const LANGUAGES: [&str; 15] = [
    "en-US", "en-GB", "de", "fr", "es-ES", "it", "ja", "pt-BR", "ru", "zh-CN", "nl", "pl", "sv-SE", "ko",
    "tr",
];
const WINDOWS: [&str; 5] =
    ["Windows NT 5.1", "Windows NT 6.1", "Windows NT 6.0", "Windows NT 5.0", "Windows NT 5.2"];
const MACS: [&str; 2] = ["Intel Mac OS X 10.6", "PPC Mac OS X 10.4"];
const ROBOTS: [&str; 40] = [
    "Acorn", "Amber", "Anvil", "Badger", "Beacon", "Bramble", "Cinder", "Cobalt", "Comet", "Copper", "Crane",
    "Dahlia", "Delta", "Ember", "Falcon", "Fennel", "Garnet", "Gecko", "Harbor", "Heron", "Indigo", "Ivory",
    "Jasper", "Juniper", "Kestrel", "Lantern", "Larch", "Magnet", "Maple", "Nimbus", "Orchid", "Otter",
    "Pebble", "Quarry", "Raven", "Saffron", "Tundra", "Umber", "Walrus", "Zephyr",
];
const TOOLS: [&str; 20] = [
    "Wget",
    "curl",
    "Lynx",
    "Links",
    "ELinks",
    "w3m",
    "libwww-perl",
    "Python-urllib",
    "PycURL",
    "Java",
    "Jakarta",
    "fetch",
    "lftp",
    "aria2",
    "Axel",
    "HTTrack",
    "Snoopy",
    "PHP",
    "WinHTTP",
    "Amaya",
];
const PHONES: [&str; 12] = [
    "Nokia",
    "SonyEricsson",
    "Motorola-",
    "SAMSUNG-",
    "LG-",
    "SHARP-",
    "SIE-",
    "Alcatel-",
    "SAGEM-",
    "Panasonic-",
    "PHILIPS ",
    "BlackBerry",
];

/// The agents of one family, the most usual first; the family's weight falls off inside as 1 / (place + 12).
fn family(agents: &mut Vec<Agent>, weight: f64, texts: Vec<String>) {
    let total: f64 = (0..texts.len()).map(|place| 1.0 / (place + 12) as f64).sum();
    let shares = (0..texts.len()).map(|place| weight / total / (place + 12) as f64);
    agents.extend(texts.into_iter().zip(shares).map(|(text, weight)| Agent { text, weight }));
}

/// All agents.
pub fn all_agents() -> Vec<Agent> {
    let mut agents = Vec::new();
    family(&mut agents, 28.0, explorers());
    family(&mut agents, 21.0, foxes());
    family(&mut agents, 8.0, chromes());
    family(&mut agents, 6.0, safaris());
    family(&mut agents, 14.0, operas());
    family(&mut agents, 10.0, phones());
    family(&mut agents, 9.0, robots());
    family(&mut agents, 14.0, tools());
    agents
}

fn explorers() -> Vec<String> {
    let mut texts = Vec::new();
    for extra in [
        "",
        "; SV1",
        "; .NET CLR 2.0.50727",
        "; Trident/4.0",
        "; .NET CLR 1.1.4322",
        "; AOL 9.0",
        "; Q312461",
    ] {
        for version in ["6.0", "7.0", "8.0", "5.5", "5.01"] {
            for windows in WINDOWS.into_iter().chain(["Windows 98", "Windows NT 4.0"]) {
                texts.push(format!("Mozilla/4.0 (compatible; MSIE {version}; {windows}{extra})"));
            }
        }
    }
    texts
}

fn foxes() -> Vec<String> {
    let versions = [
        ("1.9.2.13", "20101203", "3.6.13"),
        ("1.9.1.6", "20091201", "3.5.6"),
        ("1.8.1.14", "20080404", "2.0.0.14"),
        ("1.9.0.8", "20090326", "3.0.8"),
        ("1.8.0.4", "20060508", "1.5.0.4"),
        ("1.7.12", "20050915", "1.0.7"),
    ];
    let mut texts = Vec::new();
    for language in LANGUAGES {
        for (engine, date, version) in versions {
            for windows in WINDOWS {
                texts.push(format!(
                    "Mozilla/5.0 (Windows; U; {windows}; {language}; rv:{engine}) Gecko/{date} Firefox/{version}"
                ));
            }
        }
    }
    texts
}

fn chromes() -> Vec<String> {
    let mut texts = Vec::new();
    for version in ["17.0.963.56", "16.0.912.77", "12.0.742.91", "10.0.648.133", "8.0.552.224", "5.0.375.99"]
    {
        for (i, windows) in WINDOWS.into_iter().chain(["X11; Linux i686", "X11; Linux x86_64"]).enumerate() {
            for engine in ["534.30", "535.11", "533.4"] {
                let build = 3 + i;
                texts.push(format!(
                    "Mozilla/5.0 ({windows}) AppleWebKit/{engine} (KHTML like Gecko) Chrome/{version} Safari/{engine}.{build}"
                ));
            }
        }
    }
    texts
}

fn safaris() -> Vec<String> {
    let mut texts = Vec::new();
    for (engine, version) in
        [("533.19.4", "5.0.3"), ("531.22.7", "4.0.5"), ("525.28", "3.2.2"), ("419.3", "2.0.4")]
    {
        for language in LANGUAGES {
            for mac in MACS {
                texts.push(format!(
                    "Mozilla/5.0 (Macintosh; U; {mac}; {language}) AppleWebKit/{engine} (KHTML like Gecko) \
                     Version/{version} Safari/{engine}"
                ));
            }
        }
    }
    texts
}

fn operas() -> Vec<String> {
    let mut texts = Vec::new();
    for language in ["en", "de", "ru", "pl", "cs", "ja", "nl", "nb"] {
        for version in ["9.64", "9.27", "9.02", "8.54", "7.54", "9.52", "8.01"] {
            for windows in WINDOWS {
                texts.push(format!("Opera/{version} ({windows}; U; {language})"));
            }
        }
    }
    texts
}

fn phones() -> Vec<String> {
    let mut texts = Vec::new();
    for model in 0..20 {
        for phone in PHONES {
            // A step that is coprime to 90 gives every model of a maker a number of its own.
            let number = 10 + model * 37 % 90;
            let firmware = 1 + model % 7;
            texts.push(format!("{phone}{number}00/{firmware}.0 Profile/MIDP-2.0 Configuration/CLDC-1.1"));
        }
    }
    texts
}

fn robots() -> Vec<String> {
    let mut texts = Vec::new();
    for version in ["1.0", "2.1", "0.9", "1.3", "3.0", "0.4"] {
        for robot in ROBOTS {
            let site = robot.to_ascii_lowercase();
            texts.push(format!("{robot}Bot/{version} (+http://www.{site}.example/bot.html)"));
        }
    }
    texts
}

fn tools() -> Vec<String> {
    let mut texts = Vec::new();
    for version in ["1.10.2", "7.15", "2.8.5", "5.805", "0.5.1", "1.6.0", "3.1.4", "2.2.9", "0.11", "4.0.7"] {
        texts.extend(TOOLS.map(|tool| format!("{tool}/{version}")));
    }
    texts
}
