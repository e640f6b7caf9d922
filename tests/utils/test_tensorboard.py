"""SummaryWriter beside TensorBoard's own reader."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.utils.event_file import crc32c, varint
from minigrad.utils.tensorboard import SummaryWriter

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "a"


def read(folder):
    """What TensorBoard reads in a run's folder: every event, since it keeps a sample only if it is told no other."""
    every_event = dict.fromkeys(accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    return accumulator.EventAccumulator(str(folder), size_guidance=every_event).Reload()


def test_the_checksum_and_the_numbers_are_the_standards():
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720's
    assert (varint(0), varint(300), len(varint(-1))) == (b"\0", b"\xac\x02", 10)


def test_scalars_are_read_as_they_were_written(folder):
    with SummaryWriter(folder) as writer:
        writer.add_scalar("loss", 0.5, 3, walltime=12.5)
        writer.add_scalar("loss", mg.tensor([0.25], requires_grad=True), 4)
        writer.add_scalar("loss", np.float32(np.nan), 5)

    first, second, third = read(folder).Scalars("loss")

    assert (first.value, first.step, first.wall_time) == (0.5, 3, 12.5)
    assert (second.value, second.step) == (0.25, 4)
    assert np.isnan(third.value)


def test_several_scalars_are_runs_beside_each_other(folder):
    with SummaryWriter(folder) as writer:
        writer.add_scalars("train/loss", {"first": 1.0, "second": 2.0}, 7)

    (second,) = read(folder / "train_loss_second").Scalars("train/loss")

    assert (second.value, second.step) == (2.0, 7)


def test_a_histogram_counts_as_numpy_does(folder):
    x = mg.tensor([0.0, 1.0, 1.5, 4.0])

    with SummaryWriter(folder) as writer:
        writer.add_histogram("w", x, 0, bins=4)
    (found,) = read(folder).Histograms("w")
    told = found.histogram_value

    assert (told.min, told.max, told.num, told.sum, told.sum_squares) == (0.0, 4.0, 4, 6.5, 19.25)
    assert (told.bucket_limit, told.bucket) == ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 0.0, 1.0])


@pytest.mark.parametrize("dataformats", ["CHW", "HWC", "HW"])
def test_a_picture_has_its_pixels(folder, dataformats):
    image = pytest.importorskip("PIL.Image")
    x = np.random.default_rng(0).integers(0, 256, {"CHW": (3, 5, 7), "HWC": (5, 7, 3), "HW": (5, 7)}[dataformats])

    with SummaryWriter(folder) as writer:
        writer.add_image("seen", x.astype(np.uint8), 0, dataformats=dataformats)
    (found,) = read(folder).Images("seen")
    (folder / "seen.png").write_bytes(found.encoded_image_string)

    assert (found.height, found.width) == (5, 7)
    pixels = np.asarray(image.open(folder / "seen.png"))
    np.testing.assert_array_equal(pixels, x.transpose(1, 2, 0) if dataformats == "CHW" else x)


def test_pictures_lie_side_by_side_and_numbers_from_0_to_1_are_stretched(folder):
    image = pytest.importorskip("PIL.Image")

    with SummaryWriter(folder) as writer:
        writer.add_images("seen", mg.tensor([[[[0.0]]], [[[1.0]]], [[[0.5]]]]), 0)
    (found,) = read(folder).Images("seen")
    (folder / "seen.png").write_bytes(found.encoded_image_string)

    assert np.asarray(image.open(folder / "seen.png")).tolist() == [[0, 255, 127]]


def test_a_mask_is_black_and_white_whatever_it_is_made_of(folder):
    """True was once a gray of 1 of 255."""
    image = pytest.importorskip("PIL.Image")
    mask = np.array([[True, False, True]])
    kinds = [mask, mg.tensor(mask), mask.astype("f4"), mg.tensor(mask).to(mg.bfloat16), mask.astype(np.uint8) * 255]

    with SummaryWriter(folder) as writer:
        for step, x in enumerate(kinds):
            writer.add_image("seen", x, step, dataformats="HW")

    for found in read(folder).Images("seen"):
        (folder / "seen.png").write_bytes(found.encoded_image_string)
        assert np.asarray(image.open(folder / "seen.png")).tolist() == [[255, 0, 255]]


@pytest.mark.parametrize("step", [1.5, 1 << 63, -(1 << 63) - 1, float("nan"), float("inf"), np.float32(0.1)])
def test_a_step_that_would_be_another_in_the_file_is_refused(folder, step):
    with SummaryWriter(folder) as writer:
        with pytest.raises(ValueError, match="a step must be a 64-bit integer, got"):
            writer.add_scalar("loss", 1.0, step)
        for kept in ((1 << 63) - 1, -(1 << 63), np.int64(5), 6.0, np.uint8(7), mg.tensor(8)):
            writer.add_scalar("loss", 1.0, kept)

    assert [each.step for each in read(folder).Scalars("loss")] == [(1 << 63) - 1, -(1 << 63), 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/../../b", "..\\evil", "C:\\evil", "\\evil", "C:evil", ".."])
def test_no_name_of_a_run_leads_out_of_its_folder(folder, tmp_path, name):
    with SummaryWriter(folder) as writer:
        with pytest.raises(ValueError, match="leads out of it"):
            writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, run_name=name)
        with pytest.raises(ValueError, match="leads out of it"):
            writer.add_scalars("loss", {f"x/{name}" if ".." in name else f"x/../{name}": 1.0})
        writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, run_name="sweep/a..b")

    found = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*tfevents*")}
    assert found == {"runs/a", "runs/a/sweep/a..b"}


def test_a_text_is_what_the_text_plugin_reads(folder):
    with SummaryWriter(folder) as writer:
        writer.add_text("note", "über **alles**", 2)
    events = read(folder)
    (found,) = events.Tensors("note/text_summary")

    assert events.SummaryMetadata("note/text_summary").plugin_data.plugin_name == "text"
    assert [each.decode() for each in found.tensor_proto.string_val] == ["über **alles**"]


def test_a_graph_has_its_modules_as_folders_and_every_edge(folder):
    net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.ReLU(), mg.nn.Linear(8, 3))

    with SummaryWriter(folder) as writer:
        writer.add_graph(net, mg.ones(2, 4))
    nodes = {node.name: node for node in read(folder).Graph().node}

    assert {name for name in nodes if "/" in name} == {
        "Sequential/0/Affine", "Sequential/1/Relu", "Sequential/2/Affine_1"
    }  # fmt: skip
    assert list(nodes["Sequential/1/Relu"].input) == ["Sequential/0/Affine"]
    assert all(x in nodes for node in nodes.values() for x in node.input)
    (shape,) = nodes["Sequential/1/Relu"].attr["_output_shapes"].list.shape
    assert [axis.size for axis in shape.dim] == [2, 8]


def test_an_unknown_length_is_shown_as_one(folder):
    f = mg.function(lambda x: x * 2, input_signature=[mg.TensorSpec((None, 3))])

    with SummaryWriter(folder) as writer:
        writer.add_graph(f, mg.ones(2, 3))
    nodes = read(folder).Graph().node

    assert [axis.size for axis in nodes[-1].attr["_output_shapes"].list.shape[0].dim] == [-1, 3]


def test_hyperparameters_are_what_the_plugin_reads(folder):
    plugin = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2").HParamsPluginData

    with SummaryWriter(folder) as writer:
        writer.add_hparams({"lr": 0.1, "optimizer": "adam", "amsgrad": True}, {"accuracy": 0.9}, run_name="row")
    events = read(folder / "row")
    start, experiment = (
        plugin.FromString(events.SummaryMetadata(f"_hparams_/{name}").plugin_data.content)
        for name in ("session_start_info", "experiment")
    )

    values = start.session_start_info.hparams
    lr, name, amsgrad = values["lr"].number_value, values["optimizer"].string_value, values["amsgrad"].bool_value
    assert (lr, name, amsgrad) == (0.1, "adam", True)
    assert [info.name for info in experiment.experiment.hparam_infos] == ["lr", "optimizer", "amsgrad"]
    assert experiment.experiment.metric_infos[0].name.tag == "accuracy"
    assert events.Scalars("accuracy")[0].value == pytest.approx(0.9)


def test_a_setting_that_a_run_does_not_have_is_left_out_and_a_step_is_written(folder):
    plugin = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2").HParamsPluginData

    with SummaryWriter(folder) as writer:
        writer.add_hparams({"lr": 0.1, "momentum": None}, {"loss": 1.0}, {"lr": [0.1, 1.0]}, "row", global_step=7)
    events = read(folder / "row")
    experiment = plugin.FromString(events.SummaryMetadata("_hparams_/experiment").plugin_data.content).experiment

    (info,) = experiment.hparam_infos
    assert (info.name, [value.number_value for value in info.domain_discrete.values]) == ("lr", [0.1, 1.0])
    assert [event.step for event in events.Scalars("loss")] == [7]


# -- beside PyTorch's -------------------------------------------------------------------------------


def figure(width=2.0):
    plt = pytest.importorskip("matplotlib.pyplot")
    made, axes = plt.subplots(figsize=(width, 1.5))
    axes.plot([1, 3, 2])
    return made


def summaries(folder):
    """(step, value) of each event in a run's files, as the bytes that make them out."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader").RawEventFileLoader
    event = pytest.importorskip("tensorboard.compat.proto.event_pb2").Event
    settings = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2").HParamsPluginData
    for file in sorted(folder.rglob("*tfevents*")):
        for one in map(event.FromString, loader(str(file)).Load()):
            for value in one.summary.value:
                plugin = value.metadata.plugin_data
                if plugin.plugin_name == "hparams":  # has a map, whose order PyTorch leaves to chance
                    plugin.content = settings.FromString(plugin.content).SerializeToString(deterministic=True)
                yield one.step, value


RNG = np.random.default_rng(0)
LABELS, CHANCES, POINTS = RNG.integers(0, 2, 100), np.append(RNG.random(97), [0.0, 1.0, 0.5]), RNG.random((7, 4), "f4")
TOLD = {
    "settings": lambda w: w.add_hparams({"lr": 0.1, "a": None, "opt": "sgd"}, {"y": 1}, {"opt": ["sgd"]}, "r", 3),
    "figure": lambda w: w.add_figure("f", figure(), 3),
    "figures": lambda w: w.add_figure("f", [figure() for _ in range(10)], 3),
    "images": lambda w: w.add_images("i", np.linspace(0, 1, 11 * 3 * 4 * 5).reshape(11, 3, 4, 5), 1),
    "curve": lambda w: w.add_pr_curve("p", LABELS, CHANCES, 5),
    "weights": lambda w: w.add_pr_curve("p", LABELS == 1, CHANCES, 5, num_thresholds=11, weights=CHANCES + 1),
    "curve raw": lambda w: w.add_pr_curve_raw("p", [5, 3], [4, 2], [1, 3], [0, 2], [0.5, 0.6], [1, 0.6], 7, 2),
    "histogram": lambda w: w.add_histogram_raw("h", 0.0, 4.0, 4, 6.5, 19.25, [1.0, 2.0, 4.0], [1, 2, 1], 5),
    "text": lambda w: w.add_text("t", "hello", 1), "beyond float32": lambda w: w.add_scalar("loss", -1e39, 1),
}  # fmt: skip


@pytest.mark.parametrize("tell", TOLD.values(), ids=TOLD)
def test_the_events_are_those_that_pytorch_writes(tmp_path, tell):
    torchs = pytest.importorskip("torch.utils.tensorboard").SummaryWriter

    for kind, folder in ((SummaryWriter, tmp_path / "ours"), (torchs, tmp_path / "torch")):
        with kind(folder) as writer:
            tell(writer)

    ours, theirs = ([*summaries(tmp_path / name)] for name in ("ours", "torch"))
    assert ours
    assert ours == theirs


def test_a_figure_is_closed_if_that_is_asked_and_keeps_its_canvas_otherwise(folder):
    plt = pytest.importorskip("matplotlib.pyplot")
    one, other = figure(), figure()
    canvas = other.canvas

    with SummaryWriter(folder) as writer:
        writer.add_figure("one", one)
        writer.add_figure("other", other, close=False)

    assert (plt.fignum_exists(one.number), plt.fignum_exists(other.number)) == (False, True)
    assert other.canvas is canvas
    plt.close(other)


def embeddings(folder):
    """What the projector lists, by name."""
    text_format = pytest.importorskip("google.protobuf.text_format")
    config = pytest.importorskip("tensorboard.plugins.projector.projector_config_pb2").ProjectorConfig()
    text_format.Parse((folder / "projector_config.pbtxt").read_text("utf-8"), config)
    return {each.tensor_name: each for each in config.embeddings}


def test_an_embedding_has_the_files_that_pytorch_writes(tmp_path):
    torch = pytest.importorskip("torch")
    torchs = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    pictures = np.random.default_rng(1).random((7, 3, 6, 6))

    for kind, tensor, name in ((SummaryWriter, mg.tensor, "ours"), (torchs, torch.tensor, "torch")):
        with kind(tmp_path / name) as writer:
            writer.add_embedding(tensor(POINTS), list("abcdefg"), tensor(pictures), 2)
            rows = [["x", 1], ["", 2], ["z", 3]]
            writer.add_embedding(tensor([[1, 2]] * 3), rows, tag="two words", metadata_header=["name", "n"])
            writer.add_embedding(POINTS.astype("f8"), tag='a "quote" \\ ü')

    ours, theirs = (embeddings(tmp_path / name) for name in ("ours", "torch"))
    assert ours.keys() == theirs.keys()
    for name, entry in ours.items():
        for path in ("tensor_path", "metadata_path"):
            assert bool(getattr(entry, path)) == bool(getattr(theirs[name], path))
            if mine := getattr(entry, path):
                its = tmp_path / "torch" / getattr(theirs[name], path)
                assert (tmp_path / "ours" / mine).read_bytes() == its.read_bytes()
        assert entry.sprite == theirs[name].sprite
    sprite = ours["default:00002"].sprite.image_path
    assert (tmp_path / "ours" / sprite).read_bytes() == (tmp_path / "torch" / sprite).read_bytes()


def test_another_writer_adds_to_the_embeddings_that_are_there(folder):
    with SummaryWriter(folder) as writer:
        writer.add_embedding(POINTS, global_step=1)
        writer.add_embedding(POINTS, global_step=2)
    with SummaryWriter(folder) as writer:
        writer.add_embedding(POINTS[:2], ["a", "b"], global_step=2)

    listed = embeddings(folder)
    assert [*listed] == ["default:00001", "default:00002"]
    assert [each.metadata_path for each in listed.values()] == ["", "00002/default/metadata.tsv"]
    assert (folder / "00002/default/tensors.tsv").read_text().count("\n") == 2


def test_pictures_of_points_stand_in_as_many_rows_as_columns_and_one_header_is_no_label(folder):
    """The projector divides by columns where it means rows; a header without a tab it takes for a label."""
    image = pytest.importorskip("PIL.Image")

    with SummaryWriter(folder) as writer:
        writer.add_embedding(POINTS, [[c] for c in "abcdefg"], np.ones((7, 1, 4, 10)), metadata_header=["letter"])

    with image.open(folder / "00000/default/sprite.png") as sprite:
        assert sprite.size == (30, 12)
    assert (folder / "00000/default/metadata.tsv").read_text() == "a\nb\nc\nd\ne\nf\ng\n"


def test_what_waits_is_in_the_file_after_flush(folder):
    writer = SummaryWriter(folder)
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()

    assert len(read(folder).Scalars("loss")) == 1
    writer.close()


def test_writers_in_one_folder_do_not_share_a_file(folder):
    with SummaryWriter(folder), SummaryWriter(folder):
        assert len([*folder.iterdir()]) == 2


@pytest.mark.parametrize(("tell", "message"), [
    (lambda w: w.add_scalar("loss", [1.0, 2.0], 0), "one number, and loss got float64"),
    (lambda w: w.add_scalar(None, 1.0, 0), "a tag, a str, got None"),
    (lambda w: w.add_image(5, np.zeros((1, 4, 4)), 0), "a tag, a str, got 5"),
    (lambda w: w.add_histogram("w", [1.0, np.nan], 0), "finite numbers, and w has 2, 1 of them"),
    (lambda w: w.add_histogram("w", [], 0), "finite numbers, and w has 0"),
    (lambda w: w.add_image("i", np.zeros((2, 4, 4)), 0), "1, 3 or 4 channels"),
    (lambda w: w.add_image("i", np.zeros((4, 4)), 0), "axes C, H and W"),
    (lambda w: w.add_images("i", np.zeros((2, 1, 4, 4)), 0, dataformats="CHW"), "NCHW or NHWC"),
    (lambda w: w.add_hparams({"layers": [1, 2]}, {}), "a number, a string or a bool"),
    (lambda w: w.add_hparams({"lr": 0.1}, {"loss": [1.0, 2.0]}), "one number, and loss got"),
    (lambda w: w.add_hparams({"lr": 0.1}, {}, {"lr": ["a"]}), "a setting to values .* got lr"),
    (lambda w: w.add_hparams({"lr": 0.1}, {}, {"n": [1]}), "a setting to values .* got n"),
    (lambda w: w.add_pr_curve("p", [0, 1], [0.5]), "a probability 0 to 1 for each.* 2 labels, 0 of them others, and 1"),
    (lambda w: w.add_pr_curve("p", [0, 2], [0.5, 0.5]), "labels 0 or 1.* 1 of them others"),
    (lambda w: w.add_pr_curve("p", [0, 1], [0.5, 1.5]), "2 probabilities, 1 of them outside"),
    (lambda w: w.add_pr_curve("p", [0, 1], [0.5, np.nan]), "1 of them outside"),
    (lambda w: w.add_histogram_raw("h", 0, 1, 2, 1, 1, [1.0], [1, 1]), "1 limits and 2 counts"),
    (lambda w: w.add_figure("f", [figure(), figure(3)]), r"one size in pixels, got \[\(150, 200\), \(150, 300\)\]"),
    (lambda w: w.add_figure("f", figure().axes[0]), "plt.figure.. or axes.figure, got a Axes"),
    (lambda w: w.add_embedding(np.zeros(3)), r"a row for each point; got \[3\]"),
    (lambda w: w.add_embedding(np.zeros((3, 2)), ["a"]), "3 points, and got 1 labels"),
    (lambda w: w.add_embedding(np.zeros((3, 2)), label_img=np.zeros((2, 3, 4, 4))), "3 points, and got 2 pictures"),
    (lambda w: w.add_embedding(np.zeros((2, 2)), ["a", " "]), "not all blank"),
    (lambda w: w.add_embedding(np.zeros((2, 2)), ["a", "b\tc"]), "without tabs"),
    (lambda w: w.add_embedding(np.zeros((1, 2)), [["a", "b\n"]], metadata_header=["x", "y"]), "line breaks"),
    (lambda w: w.add_embedding(np.zeros((2, 2)), [["a"], ["b", 1]], metadata_header=["x", "y"]), "got .'a'."),
    (lambda w: w.add_embedding(np.zeros((2, 2)), tag=".."), "leads out of it"),
])  # fmt: skip
def test_what_cannot_be_told_is_refused_and_leaves_no_file(folder, tell, message):
    with SummaryWriter(folder) as writer, pytest.raises((ValueError, TypeError), match=message):
        tell(writer)

    assert len([*folder.parent.rglob("*.*")]) == 1, "the writer's own"


def test_a_closed_writer_says_so(folder):
    writer = SummaryWriter(folder)
    writer.close()
    writer.close()

    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("loss", 1.0, 0)
