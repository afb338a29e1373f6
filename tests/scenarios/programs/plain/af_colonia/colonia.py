"""Estratégias evolutivas em quatro ilhas; a cada geração trocam os melhores, numa memória comum e numa barreira."""

import multiprocessing as mp
import os
import sys
import time

import numpy as np

ILHAS, GERACOES, TAMANHO = 4, 60, 32


def alvo(x: np.ndarray) -> np.ndarray:
    return np.square(x - np.linspace(-1, 1, TAMANHO)).sum(axis=-1)


def ilha(numero: int, comum, barreira) -> None:
    rng = np.random.default_rng(numero)
    melhores = np.frombuffer(comum.get_obj(), dtype=np.float64).reshape(ILHAS, TAMANHO)
    centro, arquivo = rng.normal(size=TAMANHO), []
    print(f"ilha {numero}: pid {os.getpid()}", flush=True)
    for geracao in range(1, GERACOES + 1):
        filhos = centro + 0.2 * rng.normal(size=(200, TAMANHO))
        centro = filhos[np.argsort(alvo(filhos))[:20]].mean(axis=0)
        # a ilha 2 guarda o que já viu, para procurar o que é novo
        if numero == 2:
            arquivo.append(np.tile(filhos, (160, 1)))
        melhores[numero] = centro
        barreira.wait()
        centro = 0.5 * centro + 0.5 * melhores[np.argmin(alvo(melhores))]
        time.sleep(0.3)
        barreira.wait()
        if numero == 0:
            print(f"geração {geracao}/{GERACOES}  melhor {alvo(melhores).min():.5f}", flush=True)


def main() -> None:
    contexto = mp.get_context("fork")
    comum, barreira = contexto.Array("d", ILHAS * TAMANHO), contexto.Barrier(ILHAS)
    ilhas = [contexto.Process(target=ilha, args=(numero, comum, barreira), name=f"ilha-{numero}") for numero in range(ILHAS)]
    for processo in ilhas:
        processo.start()
    for processo in ilhas:
        processo.join()
    print("colónia: fim", flush=True)


if __name__ == "__main__":
    sys.exit(main())
