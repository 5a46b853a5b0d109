"""The page in a real browser: it opens from disk, shows text as text, and its weights are the model's."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from compilation import quick_to_compile_for_all
from integration.attended_run import model_weights, random_run

from experiments.attention.page import page
from experiments.attention.seen import see
from experiments.attention.view import View

__all__ = ["quick_to_compile_for_all"]

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

SENTENCE = "the </script><!-- <b>\"old\" 'cat' \u2028& 😀 שלום"
TARGET = "die alte Katze"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1400,1000",
]  # fmt: skip
LEAST = 0.01


@pytest.fixture(scope="module")
def run():
    return random_run()


@pytest.fixture(scope="module")
def seen(run):
    return see(run, SENTENCE, TARGET)


@pytest.fixture(scope="module")
def weights(run):
    """To the places that the page shows."""
    (found,) = model_weights(run, [(SENTENCE, TARGET)])
    return {name: np.round(each.astype(np.float64), 3) for name, each in found.items()}


@pytest.fixture(scope="module")
def path(seen, tmp_path_factory) -> Path:
    """The page of the decoder over the source, second layer, first and third head."""
    path = tmp_path_factory.mktemp("page") / "attention.html"
    path.write_text(page(seen, View("source", 1, [0, 2], None)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver: packages of these names in Debian")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture
def opened(browser, path):
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    return browser


def found(browser, selector):
    return browser.find_elements("css selector", selector)


def hover(browser, element):
    ActionChains(browser).move_to_element(element).perform()


def choose(browser, name, value):
    found(browser, f"input[name={name}][value='{value}']")[0].click()


def lines(browser):
    """(row, column, head) of each line that is drawn."""
    script = "return [...document.querySelectorAll('line.line[data-row]')].map(l => ({...l.dataset}))"
    return {(int(l["row"]), int(l["column"]), int(l["head"])) for l in browser.execute_script(script)}  # noqa: E741


def visible(weights, heads):
    return {(i, j, head) for head in heads for i, j in zip(*(weights[head] >= LEAST).nonzero(), strict=True)}


def test_opens_from_disk_without_errors_or_requests(opened, path):
    assert opened.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    assert asked == [path.as_uri()]


def test_text_is_shown_as_text(opened, run):
    assert found(opened, "#sentence")[0].get_attribute("textContent") == SENTENCE
    assert found(opened, "#target")[0].text == TARGET
    assert len(found(opened, "script")) == 2
    assert found(opened, "b") == []
    labels = [each.get_attribute("textContent") for each in found(opened, "g.word[data-side=column]")]
    assert {"the", "😀", "שלום", "</s>"} <= set(labels)
    said = "".join(labels).replace("·", "").replace("␣", "").removesuffix("</s>")
    assert said == run.vocabulary.normalize(SENTENCE).replace(" ", "")


def test_the_drawing_is_of_what_is_chosen(opened, weights):
    drawn = lines(opened)
    assert drawn == visible(weights["source"][1], [0, 2])
    choose(opened, "layer", 0)
    assert lines(opened) == visible(weights["source"][0], [0, 2]) != drawn
    choose(opened, "head", 2)
    assert lines(opened) == visible(weights["source"][0], [0])
    assert len(found(opened, "figure")) == 1
    choose(opened, "stack", "encoder")
    assert lines(opened) == visible(weights["encoder"][0], [0])
    found(opened, "#heads button")[0].click()
    assert lines(opened) == visible(weights["encoder"][0], [0, 1, 2])
    assert found(opened, "#lines-title")[0].text == "encoder self-attention, layer 1 of 2"


@pytest.mark.parametrize(("side", "index"), [("row", 1), ("column", 0)])
def test_a_word_shows_its_own_lines_and_their_weights(opened, weights, side, index):
    hover(opened, found(opened, f"g.word[data-side={side}][data-index='{index}']")[0])
    own = 0 if side == "row" else 1
    expected = {line for line in visible(weights["source"][1], [0, 2]) if line[own] == index}
    assert lines(opened) == expected
    shown = {(int(each.get_attribute("data-index")), int(each.get_attribute("data-head"))): each.text
             for each in found(opened, "text.number")}  # fmt: skip
    assert shown == {
        (line[1 - own], line[2]): f"{weights['source'][1, line[2], line[0], line[1]]:.3f}" for line in expected
    }
    hover(opened, found(opened, "h1")[0])
    assert lines(opened) == visible(weights["source"][1], [0, 2])
    assert found(opened, "text.number") == []


def test_a_word_is_reached_by_keyboard_and_kept(opened):
    word = found(opened, "g.word[data-side=row][data-index='2']")[0]
    word.send_keys(Keys.ENTER)
    opened.execute_script("document.activeElement.blur()")
    assert {row for row, _, _ in lines(opened)} == {2}
    assert found(opened, "#said")[0].text.startswith(f"“{word.text.removeprefix('·')}” looks at ")
    ActionChains(opened).send_keys(Keys.ESCAPE).perform()
    assert len({row for row, _, _ in lines(opened)}) > 1


def test_a_cell_shows_its_weight(opened, weights):
    third = weights["source"][1, 2]
    cells = list(zip(*(third >= LEAST).nonzero(), strict=True))
    hover(opened, found(opened, "figure[data-head='2'] rect.cell")[7])
    assert found(opened, "#tip b")[0].text == f"{third[cells[7]]:.3f}"
    rows, columns = ([each.text for each in found(opened, f"g.word[data-side={side}]")] for side in ("row", "column"))
    assert found(opened, "#tip span")[0].text == f"{rows[cells[7][0]]} → {columns[cells[7][1]]}"
    hover(opened, found(opened, "h1")[0])
    assert not found(opened, "#tip")[0].is_displayed()


def test_a_cell_is_reached_by_keyboard(opened, weights):
    table = found(opened, "figure[data-head='0'] svg")[0]
    for key, cell in (
        (Keys.ARROW_RIGHT, (0, 1)),
        (Keys.ARROW_DOWN, (1, 1)),
        (Keys.ARROW_LEFT, (1, 0)),
        (Keys.ARROW_LEFT, (1, 0)),
    ):
        table.send_keys(key)
        assert found(opened, "#tip b")[0].text == f"{weights['source'][1, 0][cell]:.3f}"


def test_the_word_of_the_view_is_shown_at_first(browser, seen, tmp_path):
    path = tmp_path / "word.html"
    path.write_text(page(seen, View("encoder", 0, [1], [0, 1])), encoding="utf-8")
    browser.get(path.as_uri())
    assert {(row, head) for row, _, head in lines(browser)} == {(0, 1), (1, 1)}
