"""Pictures of a sweep: how much each parameter matters, and every finished trial as a line across all parameters."""

from pathlib import Path

from optuna.study import Study

from experiments.study.finished_trials import NoPicture, finished_trials
from experiments.study.importance import importance
from experiments.study.parallel_coordinates import parallel_coordinates
from experiments.workdir import whole_file, write_text


def write_pictures(study: Study, metric: str, into: Path) -> list[str]:
    """Writes `importance` and `parallel_coordinates` into a folder, each as .png and as .html, which needs no network.

    The study has one objective; `metric` is what people call it. Returns a line for each picture that could not be
    made, with the reason; if it is there nevertheless, it is removed, for it is another study's.
    """
    into.mkdir(parents=True, exist_ok=True)
    finished = finished_trials(study, metric)
    notes = []
    for name, draw in (("importance", importance), ("parallel_coordinates", parallel_coordinates)):
        html, png = into / f"{name}.html", into / f"{name}.png"
        try:
            if len(finished.trials) < 2 or not finished.parameters:
                raise NoPicture(f"finished trials: {len(finished.trials)}, parameters: {len(finished.parameters)}")
            page, picture = draw(finished)
        except NoPicture as reason:
            html.unlink(missing_ok=True)
            png.unlink(missing_ok=True)
            notes.append(f"{html.name}, {png.name}: not drawn: {reason}")
        else:
            write_text(html, page.to_html(include_plotlyjs=True, div_id=name))
            with whole_file(png) as temporary:
                picture.savefig(temporary, format="png")
    return notes
