# rag-grid in an image: docker build -t rag-grid .      With models: docker build --build-arg EXTRAS=models -t rag-grid .
FROM python:3.11-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

# Extras of pyproject.toml, separated by commas. PyTorch comes without CUDA: for GPUs, set TORCH_INDEX=https://pypi.org/simple.
ARG EXTRAS=""
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN useradd --create-home --uid 1000 rag && mkdir /data && chown rag:rag /data

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
# Before our code, so that a change of ours keeps this layer.
RUN case ",${EXTRAS}," in *,models,*|*,train,*|*,real,*|*,dev,*) \
      python -m pip install -c constraints.txt --extra-index-url "${TORCH_INDEX}" torch ;; \
    esac
COPY analysis analysis
COPY components components
COPY conf conf
COPY docs docs
COPY runner runner
COPY sweeps sweeps
RUN python -m pip install -c constraints.txt ".${EXTRAS:+[${EXTRAS}]}"

# Results, the store and mlflow.db are written to the working directory: mount yours at /data.
USER 1000
ENV HOME=/data
WORKDIR /data
ENTRYPOINT ["rag-grid"]
CMD ["--version"]
