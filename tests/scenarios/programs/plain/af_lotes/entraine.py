import time

points = [tuple(map(float, ligne.split())) for ligne in open("exemples.txt")]
a = b = 0.0
for epoque in range(1, 101):
    for x, y in points:
        ecart = a * x + b - y
        a -= 0.01 * ecart * x
        b -= 0.01 * ecart
    time.sleep(0.4)
    print(f"époque {epoque:3d}/100  perte {sum((a * x + b - y) ** 2 for x, y in points) / len(points):.4f}  a={a:.3f} b={b:.3f}")
with open("modele.txt", "w") as f:
    print(a, b, file=f)
