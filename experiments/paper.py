"""Every figure that the paper prints and this project is held against, and nothing else: one place to look them up.

Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762v7. None is a cell that the paper leaves blank.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerType:
    """A row of Table 1: orders of growth in the length n, the width d, the kernel k, the neighbourhood r."""

    complexity_per_layer: str
    sequential_operations: str
    maximum_path_length: str


TABLE_1 = {
    "self-attention": LayerType("O(n^2 * d)", "O(1)", "O(1)"),
    "recurrent": LayerType("O(n * d^2)", "O(n)", "O(n)"),
    "convolutional": LayerType("O(k * n * d^2)", "O(1)", "O(log_k(n))"),
    "self-attention (restricted)": LayerType("O(r * n * d)", "O(1)", "O(n/r)"),
}
# Section 4: of a stack of convolutions with contiguous kernels; the table's is that of dilated ones.
PATH_OF_CONTIGUOUS_CONVOLUTIONS = "O(n/k)"

# Table 3's columns N to train steps, in their order, and the settings that they are; and the only other thing that a
# row varies, which the paper says in words across the columns of row (E).
TABLE_3_COLUMNS = {
    "N": "Model.num_layers",
    "d_model": "Model.d_model",
    "d_ff": "Model.d_ff",
    "h": "Model.num_heads",
    "d_k": "Model.d_k",
    "d_v": "Model.d_v",
    "P_drop": "Model.dropout_rate",
    "eps_ls": "Training.label_smoothing",
    "train steps": "Training.num_steps",
    "positions": "Model.positions",
}


@dataclass(frozen=True)
class Row:
    """A row of Table 3. `cells` are those of its columns that are not blank; a blank one has the base row's value."""

    group: str
    cells: dict[str, float | str]
    perplexity: float  # per piece, newstest2013
    bleu: float  # newstest2013
    params_millions: int | None


TABLE_3 = {
    "base": Row(
        "base",
        {"N": 6, "d_model": 512, "d_ff": 2048, "h": 8, "d_k": 64, "d_v": 64, "P_drop": 0.1, "eps_ls": 0.1,
         "train steps": 100_000},
        4.92, 25.8, 65,
    ),
    "A_h_1": Row("A", {"h": 1, "d_k": 512, "d_v": 512}, 5.29, 24.9, None),
    "A_h_4": Row("A", {"h": 4, "d_k": 128, "d_v": 128}, 5.00, 25.5, None),
    "A_h_16": Row("A", {"h": 16, "d_k": 32, "d_v": 32}, 4.91, 25.8, None),
    "A_h_32": Row("A", {"h": 32, "d_k": 16, "d_v": 16}, 5.01, 25.4, None),
    "B_d_k_16": Row("B", {"d_k": 16}, 5.16, 25.1, 58),
    "B_d_k_32": Row("B", {"d_k": 32}, 5.01, 25.4, 60),
    "C_N_2": Row("C", {"N": 2}, 6.11, 23.7, 36),
    "C_N_4": Row("C", {"N": 4}, 5.19, 25.3, 50),
    "C_N_8": Row("C", {"N": 8}, 4.88, 25.5, 80),
    "C_d_model_256": Row("C", {"d_model": 256, "d_k": 32, "d_v": 32}, 5.75, 24.5, 28),
    "C_d_model_1024": Row("C", {"d_model": 1024, "d_k": 128, "d_v": 128}, 4.66, 26.0, 168),
    "C_d_ff_1024": Row("C", {"d_ff": 1024}, 5.12, 25.4, 53),
    "C_d_ff_4096": Row("C", {"d_ff": 4096}, 4.75, 26.2, 90),
    "D_P_drop_0.0": Row("D", {"P_drop": 0.0}, 5.77, 24.6, None),
    "D_P_drop_0.2": Row("D", {"P_drop": 0.2}, 4.95, 25.5, None),
    "D_eps_ls_0.0": Row("D", {"eps_ls": 0.0}, 4.67, 25.3, None),
    "D_eps_ls_0.2": Row("D", {"eps_ls": 0.2}, 5.47, 25.7, None),
    "E_learned_positions": Row("E", {"positions": "learned"}, 4.92, 25.7, None),
    "big": Row(
        "big",
        {"N": 6, "d_model": 1024, "d_ff": 4096, "h": 16, "P_drop": 0.3, "train steps": 300_000},
        4.33, 26.4, 213,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class System:
    """A row of Table 2: BLEU on newstest2014, and floating-point operations of the training."""

    bleu_en_de: float | None
    bleu_en_fr: float | None
    flops_en_de: float | None
    flops_en_fr: float | None


# One cost is printed across both languages for the paper's own two models.
TABLE_2 = {
    "ByteNet": System(23.75, None, None, None),
    "Deep-Att + PosUnk": System(None, 39.2, None, 1.0e20),
    "GNMT + RL": System(24.6, 39.92, 2.3e19, 1.4e20),
    "ConvS2S": System(25.16, 40.46, 9.6e18, 1.5e20),
    "MoE": System(26.03, 40.56, 2.0e19, 1.2e20),
    "Deep-Att + PosUnk Ensemble": System(None, 40.4, None, 8.0e20),
    "GNMT + RL Ensemble": System(26.30, 41.16, 1.8e20, 1.1e21),
    "ConvS2S Ensemble": System(26.36, 41.29, 7.7e19, 1.2e21),
    "Transformer (base model)": System(27.3, 38.1, 3.3e18, 3.3e18),
    "Transformer (big)": System(28.4, 41.8, 2.3e19, 2.3e19),
}


@dataclass(frozen=True)
class Hardware:
    """What a system of Table 2 was trained on, and how long: `analysis.device_peaks` makes its cost of that."""

    device: str
    devices: int
    hours_en_de: float
    hours_en_fr: float


# The paper's own are of section 5.2, with the same hours for both languages; GNMT's are Wu et al.'s (2016).
TABLE_2_HARDWARE = {
    "GNMT + RL": Hardware("K80", 96, 24.0, 144.0),
    "Transformer (base model)": Hardware("P100", 8, 12.0, 12.0),
    "Transformer (big)": Hardware("P100", 8, 84.0, 84.0),
}
# Each ensemble is of so many models, and costs as many times the single one.
TABLE_2_ENSEMBLE = 8
# The system and the languages of the paper's own rows, by the names of their configs in gin_configs/table2.
TABLE_2_OURS = {
    "en_de_base": ("Transformer (base model)", "en_de"),
    "en_de_big": ("Transformer (big)", "en_de"),
    "en_fr_base": ("Transformer (base model)", "en_fr"),
    "en_fr_big": ("Transformer (big)", "en_fr"),
}
# Of the English-French big model; arXiv v5 and later print 41.8 in the abstract and in Table 2.
BLEU_EN_FR_BIG_IN_THE_PROCEEDINGS = 41.0


@dataclass(frozen=True)
class Parser:
    """A row of Table 4: F1 on section 23 of the Wall Street Journal."""

    name: str
    training: str
    f1: float


_WSJ_ONLY, _SEMI_SUPERVISED = "WSJ only, discriminative", "semi-supervised"
# Names come twice: the paper's own model is in two rows.
TABLE_4 = (
    Parser("Vinyals & Kaiser et al. (2014)", _WSJ_ONLY, 88.3),
    Parser("Petrov et al. (2006)", _WSJ_ONLY, 90.4),
    Parser("Zhu et al. (2013)", _WSJ_ONLY, 90.4),
    Parser("Dyer et al. (2016)", _WSJ_ONLY, 91.7),
    Parser("Transformer (4 layers)", _WSJ_ONLY, 91.3),
    Parser("Zhu et al. (2013)", _SEMI_SUPERVISED, 91.3),
    Parser("Huang & Harper (2009)", _SEMI_SUPERVISED, 91.3),
    Parser("McClosky et al. (2006)", _SEMI_SUPERVISED, 92.1),
    Parser("Vinyals & Kaiser et al. (2014)", _SEMI_SUPERVISED, 92.1),
    Parser("Transformer (4 layers)", _SEMI_SUPERVISED, 92.7),
    Parser("Luong et al. (2015)", "multi-task", 93.0),
    Parser("Dyer et al. (2016)", "generative", 93.3),
)
# The rows that the paper's own model has, by the names of their configs in gin_configs/table4.
TABLE_4_OURS = {"wsj_only": TABLE_4[4], "semi_supervised": TABLE_4[9]}
